from ergon_client import App

app = App()


@app.task()
def square(number: int) -> int:
    return number * number


if __name__ == "__main__":
    print(sum(square.map(range(10))))
