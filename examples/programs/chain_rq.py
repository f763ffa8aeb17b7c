import time
from redis import Redis
from rq import Queue


def step(name):
    return name.upper()


if __name__ == "__main__":
    from chain_rq import step
    queue, job = Queue(connection=Redis()), None
    for name in ("fetch", "resize", "store"):
        job = queue.enqueue(step, name, depends_on=job)
    while not job.is_finished:
        time.sleep(0.1)
    print(job.result)
