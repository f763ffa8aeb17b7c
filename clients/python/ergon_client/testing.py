"""Tests of apps, of actors and of handlers.

`immediate` runs an app's tasks at once in this process; `server` starts a server, and `worker` the app as its worker. `turn` runs
a message to an actor. `simulate` runs handlers in a simulated world (docs/simulation.md of Ergon's tree), and `effect` tells that
world what they have changed outside.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ergon_testing.servers import immediate, server, worker
from ergon_testing.turns import turn

if TYPE_CHECKING:
    from ergon_testing.world import Found, effect, simulate

__all__ = ["Found", "effect", "immediate", "server", "simulate", "turn", "worker"]


def __getattr__(name: str) -> Any:
    """The simulation is loaded when it is needed."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(importlib.import_module("ergon_testing.world"), name)
