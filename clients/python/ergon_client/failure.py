"""What a handler raised, as the server is told: a code, a text, and where it came from."""

from __future__ import annotations

import os
import re
import traceback
from typing import Any

from .errors import Again, ErgonError

CODE = re.compile(r"[A-Z_][A-Z0-9_]{0,31}")
TEXT = 4000  # characters of an error
TRACEBACK = 16 * 1024  # bytes: the server keeps no more
OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def error_text(error: BaseException) -> str:
    """What a handler raised, as an error of MessagePack-RPC: "CODE: text"."""
    return ": ".join(code_and_text(error))


def code_and_text(error: BaseException) -> tuple[str, str]:
    if isinstance(error, ErgonError) and CODE.fullmatch(error.code):
        return error.code, error.text[:TEXT]
    return "FAILED", f"{type(error).__name__}: {error}"[:TEXT]


def error_value(error: BaseException) -> Any:
    """The same with its traceback, where there is one; whatever it is, there is an answer."""
    try:
        return told_value(error)
    except Exception as odd:  # noqa: BLE001  # its own text may raise what it likes
        return f"FAILED: {type(error).__name__}: the exception has no text: {type(odd).__name__}"


def told_value(error: BaseException) -> Any:
    trace = "" if isinstance(error, Again) else traceback_of(error)
    if not trace:
        return error_text(error)
    code, text = code_and_text(error)
    return {"code": code, "message": text, "traceback": trace}


def traceback_of(error: BaseException) -> str:
    """Its last part, as Python prints it, without the frames of this package. Empty: the handler has no part in it."""
    said = traceback.TracebackException.from_exception(error)
    if not cut(said, set()):
        return ""
    text = "".join(said.format()).encode("utf-8", "replace")
    return text[-TRACEBACK:].decode("utf-8", "ignore")


def cut(said: traceback.TracebackException | None, seen: set[int]) -> bool:
    """Leaves our frames out, also of what caused it; are there others?"""
    if said is None or id(said) in seen:
        return False
    seen.add(id(said))
    said.stack[:] = [frame for frame in said.stack if not frame.filename.startswith(OURS)]
    before = said.__cause__ or (None if said.__suppress_context__ else said.__context__)
    others = [before, *(getattr(said, "exceptions", None) or ())]
    return any([bool(said.stack), *(cut(other, seen) for other in others)])
