import time

from ergon_client import App, Context

app = App()


@app.task(retries=3, backoff=0.1, attempt_timeout=5)
def fetch(context: Context, page: str) -> str:
    if context.attempt == 1:
        time.sleep(60)
    return f"{page} at attempt {context.attempt}"


if __name__ == "__main__":
    print(fetch.submit("index").wait())
