"""Times and durations, as users of Python write them. A number is always seconds; the server counts milliseconds."""

from __future__ import annotations

import math
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

Duration = float | timedelta | str  # a number of seconds, or a text with its unit, such as "500ms"
Until = float | timedelta | str | datetime  # the same, or the moment at which it is over
Moment = float | datetime | str  # seconds since 1970, as of time.time(); or RFC 3339, such as "2031-05-01T08:00:00Z"

UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
TEXT = re.compile(r"(\d+(?:\.\d+)?) ?(d|h|m|s|ms|us|ns)")
LATEST = 1e11  # s since 1970, the year 5138: a larger number was meant as milliseconds
LONGEST = 1e11  # s


def seconds_of(value: Any, name: str) -> float:
    """A duration in seconds. TypeError, ValueError: what is wrong with it, and what to write instead."""
    if isinstance(value, timedelta):
        number = value.total_seconds()
    elif isinstance(value, str):
        number = parsed(value, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, datetime):
        raise TypeError(f"{name} is a duration, not a datetime: use seconds, a timedelta, or a text such as '5s'")
    else:
        raise TypeError(f"{name} is a duration: use seconds, a timedelta, or a text such as '5s', not {value!r}")
    if not 0 <= number <= LONGEST:
        raise ValueError(f"{name} must be from 0 to {LONGEST:g} seconds, not {value!r}")
    return number


def parsed(text: str, name: str) -> float:
    found = TEXT.fullmatch(text)
    if found is None and text != "0":
        raise ValueError(f"{name}={text!r} is no duration: write a number with its unit, as '500ms', '5s', '10m', '2h', '7d'")
    return 0.0 if found is None else float(found[1]) * UNITS[found[2]]


def left_of(value: Any, name: str) -> float:
    """Seconds from now; a moment that has passed is 0."""
    if isinstance(value, datetime):
        return max(0.0, value.timestamp() - time.time())
    return seconds_of(value, name)


def wait_of(value: Any, name: str = "timeout") -> float | None:
    """Seconds that a caller waits; None: without a limit."""
    return None if value is None or value == math.inf else left_of(value, name)


def ms_of(value: Any, name: str) -> int:
    """A duration for the server; what is not 0 is at least one millisecond."""
    return whole_ms(seconds_of(value, name))


def until_ms_of(value: Any, name: str) -> int:
    """The same from now until a moment. One that has passed is a millisecond away: 0 would be no limit."""
    return max(1, whole_ms(left_of(value, name))) if isinstance(value, datetime) else ms_of(value, name)


def whole_ms(seconds: float) -> int:
    return max(1, round(seconds * 1000)) if seconds > 0 else 0


def moment_of(value: Any, name: str) -> int | str:
    """A moment for the server. As everywhere in Python, a datetime without a time zone is local time."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, str):
        return value  # the server knows RFC 3339, and refuses what is not
    if isinstance(value, timedelta):
        raise TypeError(f"{name} is a moment, not a timedelta: use delay=, or a datetime")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} is a moment: use a datetime, seconds since 1970, or RFC 3339, not {value!r}")
    if not 0 <= value <= LATEST:
        raise ValueError(f"{name} is in seconds since 1970, as time.time(); {value!r} is no such moment"
                         + (": divide milliseconds by 1000" if value > LATEST else ""))
    return round(value * 1000)


def schedule_of(value: Any) -> str:
    """A cron's times: its text, or how often, as a duration."""
    is_text = isinstance(value, str) and TEXT.fullmatch(value)
    if is_text or isinstance(value, (int, float, timedelta)) and not isinstance(value, bool):
        return f"every {ms_of(value, 'schedule')}ms"
    if not isinstance(value, str):
        raise TypeError(f"a schedule is a text as '*/5 * * * *', '@daily' or '10m', or a timedelta, not {value!r}")
    return value


def datetime_of(ms: Any) -> Any:
    """A moment of the server, in UTC; what is no number stays as it is."""
    if not isinstance(ms, int):
        return ms
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return ms
