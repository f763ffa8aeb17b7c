import time
from redis import Redis
from rq import Queue, Retry, get_current_job


def fetch(page):
    retries = 3 - get_current_job().retries_left
    if retries == 0:
        time.sleep(60)
    return f"{page} at attempt {retries + 1}"


if __name__ == "__main__":
    from retry_rq import fetch
    job = Queue(connection=Redis()).enqueue(fetch, "index", job_timeout=5, retry=Retry(max=3))
    while not job.is_finished:
        time.sleep(0.1)
    print(job.result)
