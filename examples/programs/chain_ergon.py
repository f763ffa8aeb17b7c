from ergon_client import App

app = App()


@app.task()
def step(name: str) -> str:
    return name.upper()


if __name__ == "__main__":
    print(app.chain(step.order("fetch"), step.order("resize"), step.order("store")).wait())
