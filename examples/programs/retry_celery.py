import time
from celery import Celery
from celery.exceptions import SoftTimeLimitExceeded

app = Celery("retry_celery", broker="redis://", backend="redis://")


@app.task(bind=True, autoretry_for=(SoftTimeLimitExceeded,), max_retries=3, default_retry_delay=0.1, soft_time_limit=5)
def fetch(self, page):
    if self.request.retries == 0:
        time.sleep(60)
    return f"{page} at attempt {self.request.retries + 1}"


if __name__ == "__main__":
    print(fetch.delay("index").get())
