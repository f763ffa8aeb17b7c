from celery import Celery

app = Celery("saga_celery", broker="redis://", backend="redis://")
app.conf.broker_transport_options = {"visibility_timeout": 60}


def do(action, what):
    if what == "car":
        raise LookupError("there is no car")
    return f"{action} {what}"


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True, autoretry_for=(OSError,), max_retries=3)
def travel(self, plan, done):
    try:
        done.append(do(*plan.pop(0)))
    except LookupError:
        plan = [["cancel", each.split()[1]] for each in reversed(done)]
    if plan:
        raise self.replace(travel.si(plan, done))
    return ", ".join(done)


if __name__ == "__main__":
    print(travel.delay([["book", what] for what in ("flight", "hotel", "car")], []).get())
