import time
from redis import Redis
from rq import Queue


def square(number):
    return number * number


if __name__ == "__main__":
    from fan_out_rq import square
    queue = Queue(connection=Redis())
    jobs = [queue.enqueue(square, number) for number in range(10)]
    while not all(job.is_finished for job in jobs):
        time.sleep(0.1)
    print(sum(job.result for job in jobs))
