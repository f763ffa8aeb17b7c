import time

from ergon_client import App

app = App()


@app.task(rate={"key": "mail", "max": 10, "per": "1s"})
def mail(to: int) -> float:
    return time.time()


if __name__ == "__main__":
    times = sorted(mail.map(range(30)))
    print(times[29] - times[0] > 1)
