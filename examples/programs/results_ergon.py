from ergon_client import RESULT, App

app = App()


@app.task()
def step(page: str, name: str) -> str:
    return f"{page}, {name}"


if __name__ == "__main__":
    print(app.chain(step.order("a page", "fetched"), step.order(RESULT, "resized"), step.order(RESULT, "stored")).wait())
