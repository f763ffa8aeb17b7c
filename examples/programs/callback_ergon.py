from ergon_client import App

app = App()


@app.task()
def square(number: int) -> int:
    return number * number


@app.task()
def total(squares: list[int]) -> int:
    return sum(squares)


if __name__ == "__main__":
    print(total.submit([square.submit(number).output for number in range(10)]).wait())
