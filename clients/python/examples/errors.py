"""Middleware of the shape that Sentry's has: each submission leaves a breadcrumb, and an exception is captured with the tags of
its task. `capture` gets (exception, tags, breadcrumbs); with Sentry it is `sentry_sdk.capture_exception`, in a scope with these.

    app.use(Errors(capture))
"""
import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

from ergon_client import Again, Cancelled, Middleware, Order, Run

Capture = Callable[[Exception, dict[str, Any], list[str]], None]
crumbs: contextvars.ContextVar[list[str]] = contextvars.ContextVar("crumbs")


class Errors(Middleware):
    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    @contextlib.contextmanager
    def submit(self, order: Order) -> Iterator[None]:
        crumbs.get([]).append(f"submit {order.method}")
        yield

    @contextlib.contextmanager
    def handle(self, run: Run) -> Iterator[None]:
        context, token = run.context, crumbs.set([])
        try:
            yield
        except (Again, Cancelled):
            raise  # no failures
        except Exception as error:
            tags = {"method": context.method, "task": context.task, "attempt": context.attempt, "tenant": context.tenant}
            self._capture(error, tags, crumbs.get())
            raise
        finally:
            crumbs.reset(token)
