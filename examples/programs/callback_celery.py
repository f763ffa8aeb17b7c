from celery import Celery, chord

app = Celery("callback_celery", broker="redis://", backend="redis://")


@app.task
def square(number):
    return number * number


@app.task
def total(squares):
    return sum(squares)


if __name__ == "__main__":
    print(chord(square.s(number) for number in range(10))(total.s()).get())
