"""A client of Ergon, a server of calls and tasks that last.

`Client` blocks, and may be shared by threads; `aio.Client` is the same for asyncio. `App` is a registry of methods and their
policies. See docs/clients.md of Ergon's tree.
"""

from ergon_app.registry import App

from . import aio
from .actors import Actor
from .blocking import Client, Task
from .errors import (
           Again,
           Broken,
           Cancelled,
           Closed,
           ErgonError,
           Permanent,
           Refused,
           RemoteError,
           TimedOut,
           Unreachable,
)
from .layers import Middleware, Order, Run
from .news import ConnectionEvent
from .results import RESULT
from .threads import Context

__all__ = ["RESULT", "Actor", "Again", "App", "Broken", "Cancelled", "Client", "Closed", "ConnectionEvent", "Context",
           "ErgonError", "Middleware", "Order", "Permanent", "Refused", "RemoteError", "Run", "Task", "TimedOut",
           "Unreachable", "aio"]
__version__ = "0.1.0"
