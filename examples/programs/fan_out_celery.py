from celery import Celery, group

app = Celery("fan_out_celery", broker="redis://", backend="redis://")


@app.task
def square(number):
    return number * number


if __name__ == "__main__":
    print(sum(group(square.s(number) for number in range(10))().get()))
