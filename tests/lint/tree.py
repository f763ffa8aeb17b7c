"""What the lints share: the files of the tree, C without its comments, and how a finding is reported."""

import os
import re
import sys
import tempfile

FOLDERS = ("base", "include", "proto", "server", "client", "examples", "sim", "tests")


def root():
    return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def files(top, folders=FOLDERS, suffixes=(".c", ".h")):
    """Paths relative to `top`, in order."""
    for folder in folders:
        for where, below, names in os.walk(os.path.join(top, folder)):
            below[:] = sorted(b for b in below if b not in ("node_modules", "corpus"))
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.relpath(os.path.join(where, name), top)


def text(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return f.read()


def code(source):
    """C with comments and the contents of strings blanked; lines keep their numbers."""

    def blank(match):
        token = match.group()
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + token[-1]

    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, source, flags=re.S)


def write(top, path, content):
    """For the self-tests, which plant a fault in a tree of their own."""
    whole = os.path.join(top, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "w", encoding="utf-8") as f:
        f.write(content)


def planted(findings, files):
    """What a lint finds in a tree of its own, {path: content}."""
    with tempfile.TemporaryDirectory() as top:
        for path, content in files.items():
            write(top, path, content)
        return list(findings(top))


def report(findings):
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
