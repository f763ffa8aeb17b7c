from celery import Celery

app = Celery("periodic_celery", broker="redis://", backend="redis://")
app.conf.beat_schedule = {"report": {"task": "periodic_celery.report", "schedule": 1.0, "args": ["daily"]}}


@app.task
def report(kind):
    print(f"the {kind} report")
