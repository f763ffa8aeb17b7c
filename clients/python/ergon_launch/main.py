"""The flags of the launcher. Exit statuses: 0 all ended in good order, 1 something did not, 2 the flags or the app are wrong."""

from __future__ import annotations

import argparse
import re
import sys

from ergon_client.address import Address
from ergon_client.times import seconds_of

from . import child, parent

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 512m, 2g")
    return int(found[1]) * UNITS[found[2]]


def duration(text: str) -> str:
    try:
        seconds_of(text, "--grace")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def address(text: str) -> str:
    try:
        return Address(text).url
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m ergon_client", description="Run an app of Ergon.")
    work = top.add_subparsers(dest="command", required=True).add_parser(
        "work", help="start workers of an app", description="Start workers of an app, and replace those that end.",
        epilog="SIGTERM and SIGINT end all in good order, and a second one at once. SIGHUP replaces all, one after the other.")
    work.add_argument("app", metavar="MODULE:APP", help="where the App is, as shop:app; default of APP: app")
    work.add_argument("--processes", type=count, default=1, metavar="N", help="how many processes, 1")
    work.add_argument("--slots", type=count, default=1, metavar="N", help="how many tasks each runs at a time, 1")
    work.add_argument("--url", type=address, help="the server; default: the app's, or ERGON_URL")
    work.add_argument("--max-tasks", type=count, metavar="N", help="replace a process that has run so many tasks")
    work.add_argument("--max-memory", type=size, metavar="SIZE", help="replace a process that has more memory, such as 512m")
    work.add_argument("--grace", type=duration, default="30s", metavar="DURATION", help="time for tasks when a process ends, 30s")
    work.add_argument("--name", help="its name, as 'ergon worker list' shows it")
    work.add_argument("--release", metavar="VERSION", help="its version, as 'ergon worker list' shows it")
    work.add_argument("--dev", action="store_true", help="replace all when a .py file below this folder changes")
    work.add_argument("--child", type=int, help=argparse.SUPPRESS)  # the file descriptor of the socket to the parent
    return top


def main(words: list[str]) -> int:
    args = parser().parse_args(words)
    if args.child is not None:
        return child.run(args)
    return parent.Parent([sys.executable, "-m", "ergon_client", *words], args).run()
