import time
from celery import Celery, group

app = Celery("limited_celery", broker="redis://", backend="redis://")


@app.task(rate_limit="10/s")
def mail(to):
    return time.time()


if __name__ == "__main__":
    times = sorted(group(mail.s(number) for number in range(30))().get())
    print(times[29] - times[0] > 1)
