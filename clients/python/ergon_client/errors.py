"""What can go wrong, as exceptions.  Each has a code, a text, and whether the same may succeed a little later."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from .times import Until, left_of, whole_ms

# Said by servers that do not tell by themselves whether an error is worth another try.
RETRYABLE = {"BUSY", "DRAINING", "MEMORY", "STORE", "NO_WORKER"}
NAMED = re.compile(r"([A-Z_][A-Z0-9_]*): ?(.*)", re.DOTALL)


class ErgonError(Exception):
    """`code` is a name such as "BUSY", `text` is for people, `retryable` says that the same call may well succeed later,
    `number` and `data` are what the server said beside, or None."""

    def __init__(self, code: str, text: str, retryable: bool = False, number: int | None = None, data: Any = None) -> None:
        text = str(text)  # a handler may give an exception
        super().__init__(f"{code}: {text}" if code else text)
        self.code = code
        self.text = text
        self.retryable = retryable
        self.number = number
        self.data = data


Failure = TypeVar("Failure", bound=ErgonError)


class RemoteError(ErgonError):
    """The server answered with an error, or a task ended with one (then `data` is the task as task.get shows it)."""


class Broken(ErgonError, ConnectionError):
    """The connection broke while the call was in flight: it may have run or not, and it was not sent again."""

    def __init__(self, why: str) -> None:
        super().__init__("BROKEN", f"the connection broke, and the call may have run or not: {why}")


class Unreachable(ErgonError, ConnectionError):
    """There is no connection, or no trust in it: nothing was sent. `reason` says why, without the address."""

    def __init__(self, why: str, reason: str | None = None) -> None:
        super().__init__("UNREACHABLE", why, retryable=True)
        self.reason = why if reason is None else reason


class Refused(ErgonError):
    """The server refused the token: nothing else was sent."""

    def __init__(self, why: str) -> None:
        super().__init__("AUTH", f"the server refused the token: {why}")


class TimedOut(ErgonError, TimeoutError):
    """No answer within the time that the caller gave.  If the call was sent, the server was told to cancel it."""

    def __init__(self, what: str, why: str | None = None) -> None:
        super().__init__("TIMEOUT", f"no answer of {what} in time" + (f": no connection: {why}" if why else ""))


class Closed(ErgonError):
    """The client was closed."""

    def __init__(self) -> None:
        super().__init__("CLOSED", "the client is closed")


class Again(ErgonError):
    """Of a handler: not now; the next attempt is to begin after that time, or at that moment, and this one was no failure. 0
    hands the task back, for another worker."""

    def __init__(self, after: Until = 0.0) -> None:
        ms = whole_ms(left_of(after, "after"))
        super().__init__("AGAIN", f"{ms}ms" if ms else "0", retryable=True)


class Permanent(ErgonError):
    """Of a handler: it will never succeed, and is not to be tried again. `code` is PERMANENT, or begins so."""

    def __init__(self, text: str, code: str = "PERMANENT") -> None:
        super().__init__(code, text)


class Cancelled(ErgonError):
    """Nobody waits for what a handler does any more: Context.check() raises it."""

    def __init__(self, why: str) -> None:
        super().__init__("CANCELLED", why)


def twin(error: Failure) -> Failure:
    """The same error for another task. One that two tasks raise has the frames of both, and unittest clears these: it would end
    the one that goes on."""
    other = type(error).__new__(type(error), *error.args)
    other.args = error.args  # those of an OSError are not set by __new__
    other.__dict__.update(error.__dict__)
    return other


def split(text: str) -> tuple[str, str]:
    """ "NAME: text" as (name, text); the name is "" if there is none."""
    named = NAMED.fullmatch(text)
    return (named[1], named[2]) if named else ("", text)


def remote_error(value: Any, data: Any = None) -> RemoteError:
    """The error of a response in any of its shapes: a text, [number, text], or a map."""
    number, text, retryable = None, value, None
    if isinstance(value, list) and len(value) == 2:
        number, text = value
    elif isinstance(value, dict):
        number, text = value.get("code"), value.get("message")
        retryable, data = value.get("retryable"), value.get("data")
    code, text = split(text if isinstance(text, str) else repr(value))
    return RemoteError(code, text, bool(code in RETRYABLE if retryable is None else retryable), number, data)
