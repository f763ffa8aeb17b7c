from ergon_client import App

app = App()


@app.task("python.app")
def echo(text: str) -> str:
    return text
