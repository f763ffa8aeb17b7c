from datetime import timedelta
from redis import Redis
from rq import Queue


def report(kind):
    print(f"the {kind} report")
    enqueue(kind)


def enqueue(kind):
    from periodic_rq import report
    Queue(connection=Redis()).enqueue_in(timedelta(seconds=1), report, kind)


if __name__ == "__main__":
    enqueue("daily")
