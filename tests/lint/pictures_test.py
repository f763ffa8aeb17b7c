#!/usr/bin/python3
"""The pictures are what they claim to be.

- Each drawing is what scripts/pictures/draw.py makes of its description in docs/pictures/.
- The drawing of the folders is true: each include of the source leads from its box to one further down.
- Each picture is there for light and for dark pages.
- A document that shows a picture names a file that is there, and says what it shows.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import fnmatch
import glob
import os
import re
import sys

import tree
from includes_test import INCLUDE, REQUESTS

sys.path.insert(0, os.path.join(tree.root(), "scripts", "pictures"))
import draw  # noqa: E402

PICTURES = os.path.join("docs", "pictures")
ROOMS = os.path.join(PICTURES, "rooms.txt")
FOLDERS = [folder for folder in tree.FOLDERS if folder != "tests"]  # tests may use all
SHOWN = re.compile(r'<(img|source)\b([^>]*)>')


def stale(top):
    """Drawings that differ from their descriptions."""
    for path, content in draw.drawn(os.path.join(top, PICTURES)):
        name = os.path.relpath(path, top)
        if not os.path.exists(path) or tree.text(top, name) != content:
            yield f"{name}: differs from what its description says (./run pictures)"


def boxes(top):
    """{folder: area of its box}"""
    things = draw.parse(tree.text(top, ROOMS))
    return {folder: draw.area(thing) for thing in things if thing.kind in ("box", "bar") for folder in thing.words[0].split(",")}


def folder_of(path, folders):
    """The folder of the drawing that a file belongs to: the longest that fits, but for what another room has of it."""
    side = next((folder for pattern, folder in REQUESTS.items() if fnmatch.fnmatch(path, pattern)), None)
    return side or max((folder for folder in folders if path.startswith(folder + "/")), key=len, default=None)


def upwards(top):
    """Includes that do not lead down."""
    box = boxes(top)
    for path in tree.files(top, FOLDERS):
        user = folder_of(path, box)
        if user is None:
            yield f"{ROOMS}: no box has {path}"
            continue
        for quote, name in INCLUDE.findall(tree.text(top, path)):
            if quote == "<" and not name.startswith("ergon/"):
                continue
            used = folder_of(name if quote == '"' else "include/" + name, box)
            if used and box[used] != box[user] and box[used].y < box[user].y + box[user].height:
                yield f"{ROOMS}: {path} uses {name}, but {used} is not drawn below {user}"


def halves(top):
    """Pictures for light pages without one for dark pages, or the reverse."""
    there = {os.path.relpath(path, top) for path in glob.glob(os.path.join(top, PICTURES, "*-*.*"))}
    for path in sorted(there):
        for mode, other in (("-light.", "-dark."), ("-dark.", "-light.")):
            if mode in path and path.replace(mode, other) not in there:
                yield f"{path}: has no {path.replace(mode, other)}"


def missing(top):
    """Pictures of documents that are not there, or say nothing to readers who cannot see them."""
    for page in sorted(glob.glob("*.md", root_dir=top) + glob.glob("docs/*.md", root_dir=top)):
        for kind, said in SHOWN.findall(tree.text(top, page)):
            to = re.search(r'\b(?:src|srcset)="([^"]*)"', said)
            if not to or not os.path.exists(os.path.join(top, os.path.dirname(page), to[1])):
                yield f"{page}: {to[1] if to else said} is not there"
            if kind == "img" and not re.search(r'\balt="[^"]{20,}"', said):
                yield f"{page}: a picture has no alt text"


def findings(top):
    return [*stale(top), *upwards(top), *halves(top), *missing(top)]


DESCRIPTION = """size 100 100
title : a picture
box server/tasks,server/workers 0 0 50 20 blue : tasks
box server/rpc 50 0 50 20 blue : rpc
bar base 0 30 100 20 grey : base | below
arrow server/rpc.bottom 75,30 grey ring
"""
GOOD = {
    ROOMS: DESCRIPTION,
    **{os.path.join(PICTURES, f"rooms-{mode}.svg"): draw.draw(DESCRIPTION, palette) for mode, palette in draw.PALETTES.items()},
    "base/a.h": "",
    "server/tasks/a.c": '#include "base/a.h"\n',
    "README.md": '<img src="docs/pictures/rooms-light.svg" alt="The folders, one above the other.">',
}


def prove():
    assert not tree.planted(findings, GOOD)
    drawing = os.path.join(PICTURES, "rooms-dark.svg")
    for path, bad, found in ((drawing, GOOD[drawing].replace("below", "above"), "differs"),
                             (ROOMS, DESCRIPTION.replace("a picture", "another"), "differs"),
                             ("base/a.h", '#include "server/tasks/a.h"\n', "not drawn below"),
                             ("server/tasks/a.c", '#include "server/rpc/a.h"\n', "not drawn below"),
                             ("proto/a.c", "", "no box has"),
                             (os.path.join(PICTURES, "page-dark.png"), "", "has no"),
                             ("docs/a.md", '<source srcset="pictures/gone.svg">', "is not there"),
                             ("README.md", '<img src="docs/pictures/rooms-light.svg" alt="">', "no alt text")):
        assert any(found in finding for finding in tree.planted(findings, {**GOOD, path: bad})), (path, found)
    without = {path: content for path, content in GOOD.items() if path != drawing}
    assert any("differs" in finding for finding in tree.planted(findings, without))


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
