"""Middleware: what programs put round each submission and each run of a handler, for blocking and for coroutine functions."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any


@dataclasses.dataclass
class Order:
    """A submission that is not sent yet: `method`, `params` and `options` may be changed. `task`: the Task of it, afterwards;
    None of a call()."""
    method: str
    params: list[Any]
    options: dict[str, Any]
    task: Any = None

    def __iter__(self) -> Iterator[Any]:
        """As submit_many() takes it."""
        return iter((self.method, self.params, self.options))


@dataclasses.dataclass
class Run:
    """One run of a handler, or one turn of an actor: `params` as they came, `result` afterwards."""
    context: Any
    params: list[Any]
    result: Any = None


class Middleware:
    """Override one of these, or both, with @contextlib.contextmanager; what is raised within comes out of its `yield`. The first
    that an App uses is the outermost."""

    def submit(self, order: Order) -> contextlib.AbstractContextManager[None]:
        """Round a submission or a call."""
        return contextlib.nullcontext()

    def handle(self, run: Run) -> contextlib.AbstractContextManager[None]:
        """Goes round a run and the check of its parameters; an exception of it fails the run."""
        return contextlib.nullcontext()


def entered(layers: Iterable[contextlib.AbstractContextManager[None]]) -> contextlib.ExitStack:
    """All of them, one within the other, for `with`."""
    with contextlib.ExitStack() as stack:
        for layer in layers:
            stack.enter_context(layer)
        return stack.pop_all()
    raise RuntimeError("a middleware suppressed what another one raised before its yield")


def submitting(layers: Iterable[Middleware], order: Order) -> contextlib.ExitStack:
    return entered(layer.submit(order) for layer in layers)


def handling(layers: Iterable[Middleware], run: Run) -> contextlib.ExitStack:
    return entered(layer.handle(run) for layer in layers)


def around(layers: Sequence[Middleware], handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler with these layers."""
    if not layers:
        return handler

    def call(context: Any, *params: Any) -> Any:
        getattr(context, "_context", context)._layers = layers
        run = Run(context, list(params))
        with handling(layers, run):
            run.result = handler(context, *run.params)
        return run.result

    async def call_async(context: Any, *params: Any) -> Any:
        context._layers = layers
        run = Run(context, list(params))
        with handling(layers, run):
            run.result = await handler(context, *run.params)
        return run.result

    return call_async if inspect.iscoroutinefunction(handler) else call
