"""A client of Ergon, a server of calls and tasks that last.

`Client` blocks, and may be shared by threads; `aio.Client` is the same for asyncio. See docs/clients.md of Ergon's tree.
"""

from . import aio
from .actors import Actor
from .blocking import Client, Task
from .errors import Again, Broken, Cancelled, Closed, ErgonError, Permanent, Refused, RemoteError, TimedOut, Unreachable
from .news import ConnectionEvent

__all__ = ["Actor", "Again", "Broken", "Cancelled", "Client", "Closed", "ConnectionEvent", "ErgonError", "Permanent", "Refused",
           "RemoteError", "Task", "TimedOut", "Unreachable", "aio"]
__version__ = "0.1.0"
