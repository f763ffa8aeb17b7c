"""Middleware that counts: how many tasks were submitted, how many runs ended how, and how long they took.

    app.use(Metrics())
"""
import collections
import contextlib
import time
from collections.abc import Iterator

from ergon_client import Middleware, Order, Run


class Metrics(Middleware):
    def __init__(self) -> None:
        self.submitted: collections.Counter[str] = collections.Counter()
        self.ended: collections.Counter[tuple[str, str]] = collections.Counter()
        self.seconds: collections.Counter[str] = collections.Counter()

    @contextlib.contextmanager
    def submit(self, order: Order) -> Iterator[None]:
        yield
        self.submitted[order.method] += 1

    @contextlib.contextmanager
    def handle(self, run: Run) -> Iterator[None]:
        begun, method = time.perf_counter(), run.context.method
        outcome = "failed"
        try:
            yield
            outcome = "done"
        finally:
            self.ended[method, outcome] += 1
            self.seconds[method] += time.perf_counter() - begun  # type: ignore[assignment]
