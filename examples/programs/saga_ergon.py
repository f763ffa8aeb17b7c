from ergon_client import App, Context

app = App()


def do(action: str, what: str) -> str:
    if what == "car":
        raise LookupError("there is no car")
    return f"{action} {what}"


@app.task(retries=3)
def travel(context: Context, *trip: str) -> str:
    plan, done = context.checkpoint or [[["book", what] for what in trip], []]
    while plan:
        try:
            done.append(do(*plan.pop(0)))
        except LookupError:
            plan = [["cancel", each.split()[1]] for each in reversed(done)]
        context.save([plan, done])
    return ", ".join(done)


if __name__ == "__main__":
    print(travel.submit("flight", "hotel", "car").wait())
