"""Middleware that hands a trace on: what a handler submits belongs to the trace of its own task, each run with a span of its own.
`record` gets (traceparent, parent, method) of each run; an exporter of OpenTelemetry would send that.

    app.use(Trace(record))
"""
import contextlib
import contextvars
import secrets
from collections.abc import Callable, Iterator

from ergon_client import Middleware, Order, Run

current: contextvars.ContextVar[str | None] = contextvars.ContextVar("traceparent", default=None)


def span_of(parent: str | None) -> str:
    """A traceparent of W3C Trace Context: of a new span, in the parent's trace, or in a new one."""
    trace = parent.split("-")[1] if parent else secrets.token_hex(16)
    return f"00-{trace}-{secrets.token_hex(8)}-01"


class Trace(Middleware):
    def __init__(self, record: Callable[[str, str | None, str], None]) -> None:
        self._record = record

    @contextlib.contextmanager
    def submit(self, order: Order) -> Iterator[None]:
        order.options.setdefault("traceparent", current.get() or span_of(None))
        yield

    @contextlib.contextmanager
    def handle(self, run: Run) -> Iterator[None]:
        parent = run.context.traceparent
        own = span_of(parent)
        token = current.set(own)
        try:
            yield
        finally:
            current.reset(token)
            self._record(own, parent, run.context.method)
