from celery import Celery, chain

app = Celery("results_celery", broker="redis://", backend="redis://")


@app.task
def step(page, name):
    return f"{page}, {name}"


if __name__ == "__main__":
    print(chain(step.s("a page", "fetched"), step.s("resized"), step.s("stored"))().get())
