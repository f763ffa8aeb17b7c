#!/usr/bin/python3
"""The documents name what is there: each link leads to a file of the tree, and to a heading of it, and each path in `backquotes`
that begins with a folder of the tree is a file or a folder. What is in docs/ stands in its index.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import glob
import os
import re

import tree

FOLDERS = ("base", "client", "clients", "cmake", "dist", "docker", "docs", "examples", "include", "proto", "scripts", "server", "sim", "tests")
PAGES = ("*.md", "clients/**/*.md", "docs/*.md", "proto/*.md", "tests/**/*.md")

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`((?:%s)/[\w./{},*-]*)`" % "|".join(FOLDERS))
HEADING = re.compile(r"^#+ (.*)$", re.M)
CODE = re.compile(r"^```.*?^```", re.M | re.S)


def anchors(text):
    """As GitHub makes them of headings."""
    for heading in HEADING.findall(CODE.sub("", text)):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def exists(top, pattern):
    """A path, with {a,b} for either and * for any."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match:
        return all(exists(top, pattern[: match.start()] + part + pattern[match.end() :]) for part in match[1].split(","))
    return bool(glob.glob(os.path.join(top, pattern)))


def findings(top):
    for page in sorted({p for pattern in PAGES for p in glob.glob(pattern, root_dir=top, recursive=True)}):
        text = CODE.sub("", tree.text(top, page))
        for path, anchor in LINK.findall(text):
            to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(top, to)):
                yield f"{page}: a link leads to {to}, which is not there"
            elif anchor and anchor not in anchors(tree.text(top, to)):
                yield f"{page}: a link leads to #{anchor} of {to}, which is no heading there"
        for path in PATH.findall(text):
            if not exists(top, path):
                yield f"{page}: {path} is not there"


def not_in_index(top):
    index = os.path.join("docs", "README.md")
    links = {path for path, _ in LINK.findall(tree.text(top, index))} if os.path.exists(os.path.join(top, index)) else set()
    for page in sorted(glob.glob("*.md", root_dir=os.path.join(top, "docs")) + glob.glob("man/*", root_dir=os.path.join(top, "docs"))):
        if page not in links and page != "README.md":
            yield f"docs/README.md does not lead to {page}"


def found_in(page):
    return tree.planted(findings, {"server/a.c": "", "docs/a.md": page})


def prove():
    assert not found_in("# The `first`, one\n[a](../server/a.c) [b](#the-first-one) [c](https://b.c/d) `server/*.c` `server/{a,a}.c`")
    assert found_in("[a](../server/b.c)")
    assert found_in("# One\n[a](#two)")
    assert found_in("in `server/b.c`")
    assert found_in("in `server/{a,b}.c`")
    indexed = {"docs/README.md": "[a](a.md) [b](man/b.1)", "docs/a.md": "", "docs/man/b.1": ""}
    assert not tree.planted(not_in_index, indexed)
    assert tree.planted(not_in_index, {**indexed, "docs/c.md": ""}) and tree.planted(not_in_index, {**indexed, "docs/man/c.8": ""})


if __name__ == "__main__":
    prove()
    tree.report([*findings(tree.root()), *not_in_index(tree.root())])
