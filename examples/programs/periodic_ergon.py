from ergon_client import App

app = App()


@app.cron("report", "every 1s", "daily")
def report(kind: str) -> None:
    print(f"the {kind} report")
