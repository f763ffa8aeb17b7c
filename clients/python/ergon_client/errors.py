"""What can go wrong, as exceptions.  Each has a code, a text, and whether the same may succeed a little later."""

import re

from .times import left_of, whole_ms

# Said by servers that do not tell by themselves whether an error is worth another try.
RETRYABLE = {"BUSY", "DRAINING", "MEMORY", "STORE"}
NAMED = re.compile(r"([A-Z_][A-Z0-9_]*): ?(.*)", re.S)


class ErgonError(Exception):
    """`code` is a name such as "BUSY", `text` is for people, `retryable` says that the same call may well succeed later,
    `number` and `data` are what the server said beside, or None."""

    def __init__(self, code, text, retryable=False, number=None, data=None):
        super().__init__(f"{code}: {text}" if code else text)
        self.code = code
        self.text = text
        self.retryable = retryable
        self.number = number
        self.data = data


class RemoteError(ErgonError):
    """The server answered with an error, or a task ended with one (then `data` is the task as task.get shows it)."""


class Broken(ErgonError, ConnectionError):
    """The connection broke while the call was in flight: it may have run or not, and it was not sent again."""

    def __init__(self, why):
        super().__init__("BROKEN", f"the connection broke, and the call may have run or not: {why}")


class Unreachable(ErgonError, ConnectionError):
    """There is no connection, or no trust in it: nothing was sent. `reason` says why, without the address."""

    def __init__(self, why, reason=None):
        super().__init__("UNREACHABLE", why, retryable=True)
        self.reason = why if reason is None else reason


class Refused(ErgonError):
    """The server refused the token: nothing else was sent."""

    def __init__(self, why):
        super().__init__("AUTH", f"the server refused the token: {why}")


class TimedOut(ErgonError, TimeoutError):
    """No answer within the time that the caller gave.  If the call was sent, the server was told to cancel it."""

    def __init__(self, what, why=None):
        super().__init__("TIMEOUT", f"no answer of {what} in time" + (f": no connection: {why}" if why else ""))


class Closed(ErgonError):
    """The client was closed."""

    def __init__(self):
        super().__init__("CLOSED", "the client is closed")


class Again(ErgonError):
    """Of a handler: not now; the next attempt is to begin after that time, or at that moment, and this one was no failure. 0
    hands the task back, for another worker."""

    def __init__(self, after=0.0):
        ms = whole_ms(left_of(after, "after"))
        super().__init__("AGAIN", f"{ms}ms" if ms else "0", retryable=True)


class Permanent(ErgonError):
    """Of a handler: it will never succeed, and is not to be tried again. `code` is PERMANENT, or begins so."""

    def __init__(self, text, code="PERMANENT"):
        super().__init__(code, text)


class Cancelled(ErgonError):
    """Nobody waits for what a handler does any more: Context.check() raises it."""

    def __init__(self, why):
        super().__init__("CANCELLED", why)


def twin(error):
    """The same error for another task. One that two tasks raise has the frames of both, and unittest clears these: it would end
    the one that goes on."""
    other = type(error).__new__(type(error), *error.args)
    other.__dict__.update(error.__dict__)
    return other


def split(text):
    """ "NAME: text" as (name, text); the name is "" if there is none."""
    named = NAMED.fullmatch(text)
    return named.groups() if named else ("", text)


def remote_error(value, data=None):
    """The error of a response in any of its shapes: a text, [number, text], or a map."""
    number, text, retryable = None, value, None
    if isinstance(value, list) and len(value) == 2:
        number, text = value
    elif isinstance(value, dict):
        number, text = value.get("code"), value.get("message")
        retryable, data = value.get("retryable"), value.get("data")
    code, text = split(text if isinstance(text, str) else repr(value))
    return RemoteError(code, text, bool(code in RETRYABLE if retryable is None else retryable), number, data)
