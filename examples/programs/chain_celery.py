from celery import Celery, chain

app = Celery("chain_celery", broker="redis://", backend="redis://")


@app.task
def step(name):
    return name.upper()


if __name__ == "__main__":
    print(chain(step.si("fetch"), step.si("resize"), step.si("store"))().get())
