from celery import Celery

app = Celery("celery_peer", broker="redis://", backend="redis://")


@app.task
def echo(text):
    return text
