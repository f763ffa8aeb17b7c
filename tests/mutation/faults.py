"""The faults that tests have to notice, and how one is planted in a text.

A file below faults/ holds those of one folder of the product:

    [name] the promise that it breaks
    path/of/the/file.c function
    - text that stands there
    + text that takes its place

The function may be left out, for what stands outside of any; then the text must be unique in the file.  Behind `|` on the
line of the path may stand a pattern of the tests that should notice it first, in place of those of its folder.  Lines of
`-` are one text, those of `+` what replaces it; a further `-` begins a second place in the same function.  How a text is
broken into lines and indented does not matter, so that it outlives clang-format, and neither does what stands around it.
An empty line ends a fault; lines that begin with # are remarks.
"""

import glob
import os
import re

FOLDER = os.path.join("tests", "mutation", "faults")
TOKEN = re.compile(r"\w+|[^\w\s]")


class Misplaced(Exception):
    """The fault cannot be planted: its text says why, and what to do."""


class Fault:
    def __init__(self, origin, name, promise):
        self.origin = origin  # file:line
        self.name = name
        self.promise = promise
        self.path = None
        self.function = None
        self.first = None  # pattern of the tests that are run first; None: those of its folder
        self.places = []  # [text there, text instead]

    @property
    def area(self):
        """The room of the product: "runtime" of server/runtime/..., "base" of base/..."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "server" and len(parts) > 2 else parts[0]

    def text(self):
        return "\n".join([self.name, self.path, self.function or ""] + [part for place in self.places for part in place])

    def wrong(self, what):
        return Misplaced(f"{self.origin}: [{self.name}] {what}")

    def plant(self, source):
        """`source` with the fault; Misplaced where it has no place."""
        for there, instead in self.places:
            found = [f for begin, end in self.bounds(source) for f in pattern(there).finditer(source, begin, end)]
            where = f"{self.function}() of {self.path}" if self.function else self.path
            if len(found) != 1:
                raise self.wrong(
                    f"stands {len(found)} times in {where}: {there.strip()!r}\n"
                    "    Each fault breaks a promise that a test has to notice.  If the code says the same in other words now,\n"
                    "    put them behind '-'; if it keeps the promise elsewhere, plant the fault there; if the promise is no\n"
                    "    more, delete the fault.  tests/mutation/faults.py has the format, './run mutation NAME' tries it.")
            source = source[: found[0].start()] + instead.strip() + source[found[0].end() :]
        return source

    def bounds(self, source):
        """Where the text may stand: in the function, of which there may be one for each #ifdef."""
        if not self.function:
            return [(0, len(source))]
        bounds = []
        head = re.compile(rf"^(?![ \t#}}/*])[^\n;=]*\b{re.escape(self.function)}\(", re.M)
        for match in head.finditer(source):
            brace = source.find("\n{", match.start())
            semicolon = source.find(";", match.start())
            if brace >= 0 and (semicolon < 0 or brace < semicolon):
                bounds.append((match.start(), source.index("\n}", brace)))
        if bounds:
            return bounds
        raise self.wrong(f"there is no function {self.function}() in {self.path}: name the one that has the text now")


def pattern(text):
    """The tokens of the text, with whatever blanks between them."""
    found, last = "", ""
    for token in TOKEN.findall(text):
        if last:
            found += r"\s+" if re.match(r"\w", last) and re.match(r"\w", token) else r"\s*"
        found += re.escape(token)
        last = token
    return re.compile(found)


def parse(origin, text):
    fault = None
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        here = f"{origin}:{number}"
        head = re.fullmatch(r"\[([\w-]+)\] (.+)", line)
        if head:
            fault = Fault(here, head[1], head[2])
            faults.append(fault)
        elif not line.strip() or line.startswith("#"):
            continue
        elif fault is None:
            raise Misplaced(f"{here}: a fault begins with [name] and its promise")
        elif line[0] == "-":
            if not fault.places or fault.places[-1][1] is not None:
                fault.places.append([line[1:], None])
            else:
                fault.places[-1][0] += "\n" + line[1:]
        elif line[0] == "+":
            if not fault.places:
                raise fault.wrong("has text to put, and none that it replaces")
            fault.places[-1][1] = line[1:] if fault.places[-1][1] is None else fault.places[-1][1] + "\n" + line[1:]
        else:
            place, _, first = line.partition("|")
            words = place.split()
            fault.path, fault.function = words[0], words[1] if len(words) > 1 else None
            fault.first = first.strip() or None
    for fault in faults:
        if not fault.path or not fault.places:
            raise fault.wrong("lacks the line of its file, or a text that it replaces")
        fault.places = [[there, instead or ""] for there, instead in fault.places]
    return faults


def load(top):
    """All faults of the tree, in order."""
    faults = []
    for path in sorted(glob.glob(os.path.join(top, FOLDER, "*.faults"))):
        with open(path, encoding="utf-8") as f:
            faults += parse(os.path.relpath(path, top), f.read())
    return faults


def source_of(top, fault):
    try:
        with open(os.path.join(top, fault.path), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        raise fault.wrong(f"there is no {fault.path}: name the file that has the text now") from None
