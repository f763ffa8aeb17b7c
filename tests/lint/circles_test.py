#!/usr/bin/python3
"""No file needs itself back. In each folder of the product, alone and with its rooms, the files that all reach each other
are at most CIRCLE_FILES, and in a folder of FEW files or more they have at most CIRCLE_SHARE per cent of its lines.

A file reaches another when it names a function or an object that the other defines: by a call, by taking the address, in a
table. A table is an object, too, so whoever uses a table reaches the functions in it by way of the file that holds the table.
The compiler says who names what: the symbols are read from the object files of the build tree.

First the test expects to find what it planted in a tree of its own; then it reads ours.

usage: circles_test.py BUILD-DIRECTORY [-v]    -v shows the largest circle of every folder
"""

import collections
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import tree

FOLDERS = ("base", "proto", "server", "client")
CIRCLE_FILES, CIRCLE_SHARE, FEW = 6, 20, 10


def objects(top, build):
    """{source: object file} of what is built of the product."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            path = os.path.relpath(entry["file"], top)
            if path.startswith(tuple(f + "/" for f in FOLDERS)) and path not in found:
                words = shlex.split(entry["command"])
                found[path] = os.path.join(entry["directory"], words[words.index("-o") + 1])
    return found


def symbols(built):
    """(name, file) of what is defined for others, {file: names that it needs of others}."""
    said = subprocess.run(["nm", "-A", "-P", "-g", *built.values()], check=True, capture_output=True, text=True).stdout
    source = {at: path for path, at in built.items()}
    defined, needed = [], collections.defaultdict(set)
    for at, name, kind in re.findall(r"^(.*?)(?:\[.*\])?: (\S+) (\S)", said, flags=re.M):
        if kind == "U":
            needed[source[at]].add(name)
        else:
            defined.append((name, source[at]))
    return defined, needed


def arrows(built):
    """{file: files that it reaches at once}; a name that several files define belongs to none."""
    defined, needed = symbols(built)
    many = collections.Counter(name for name, _ in defined)
    home = {name: path for name, path in defined if many[name] == 1}
    return {path: {home[n] for n in needed[path] if n in home} - {path} for path in built}


def reached(out, start, within):
    seen, left = set(), [start]
    while left:
        for path in out[left.pop()] & within - seen:
            seen.add(path)
            left.append(path)
    return seen


def largest_circle(out, within):
    reach = {path: reached(out, path, within) for path in within}
    circles = [{b for b in reach[a] if a in reach[b]} for a in within]
    return sorted(max(circles, key=lambda c: (len(c), sorted(c)), default=()))


def folders(paths):
    """{folder: its files and those of its rooms, or its own alone}."""
    found = collections.defaultdict(set)
    for path in paths:
        above = os.path.dirname(path)
        found[above + "/*.c"].add(path)
        while above:
            found[above].add(path)
            above = os.path.dirname(above)
    return {name: files for name, files in sorted(found.items())
            if not name.endswith("/*.c") or files != found[name[:-4]]}


def unbuilt(top, built):
    for path in tree.files(top, FOLDERS, (".c",)):
        if path not in built:
            yield f"{path}: no target builds it"
        elif os.path.getmtime(os.path.join(top, path)) > os.path.getmtime(built[path]):
            yield f"{path}: is newer than its object file: build first"


def findings(top, build, verbose=False):
    built = {path: at for path, at in objects(top, build).items()
             if os.path.exists(at) and os.path.exists(os.path.join(top, path))}
    found = list(unbuilt(top, built))
    out = arrows(built)
    lines = {path: sum(not line.isspace() for line in tree.code(tree.text(top, path)).splitlines(True)) for path in built}
    for folder, files in folders(built).items():
        circle = largest_circle(out, files)
        share = 100 * sum(lines[p] for p in circle) // sum(lines[p] for p in files)
        said = f"{folder}: {len(circle)} of {len(files)} files, {share} % of the lines, reach each other"
        if verbose:
            print(said)
        if len(circle) > CIRCLE_FILES or (len(files) >= FEW and share > CIRCLE_SHARE):
            found.append(f"{said}, at most {CIRCLE_FILES} files and {CIRCLE_SHARE} %: {' '.join(circle)}")
    return found


def found_in(sources, stale=False):
    with tempfile.TemporaryDirectory() as top:
        entries = []
        for name, content in sources.items():
            tree.write(top, f"server/{name}.c", content)
            entries.append({"directory": top, "file": f"{top}/server/{name}.c", "command": f"cc -o {name}.o"})
        paths = [e["file"] for e in entries]
        subprocess.run(["cc", "-w", "-c", *paths], cwd=top, check=True)
        tree.write(top, "compile_commands.json", json.dumps(entries))
        if stale:
            os.utime(paths[0], (os.path.getmtime(paths[0]) + 60,) * 2)
        return findings(top, top)


def ring(n):
    """Files a0, a1, …, each of which calls the next, and the last the first."""
    return {f"a{i}": f"void f{i}(void) {{ f{(i + 1) % n}(); }}\n" for i in range(n)}


def prove():
    assert not found_in(ring(CIRCLE_FILES))
    assert found_in(ring(CIRCLE_FILES + 1))
    open_ring = ring(CIRCLE_FILES + 1)
    open_ring["a0"] = "void f0(void) {}\n"
    assert not found_in(open_ring)
    address = "void f1(void);\nvoid (*const table[])(void) = {f1};\n"
    assert found_in({**open_ring, "a0": address + "void f0(void) {}\n"}), "an address closes the circle"
    by_table = {**open_ring, "a0": "extern void (*const table[])(void);\nvoid f0(void) { table[0](); }\n", "t": address}
    assert found_in(by_table), "a table in a file of its own closes the circle"
    others = {f"b{i}": f"void g{i}(void) {{}}\n" for i in range(FEW)}
    assert found_in({**ring(5), **others}), "five files of fifteen are a third"
    assert not found_in({**ring(2), **others})
    assert found_in(ring(3), stale=True)


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root(), sys.argv[1], "-v" in sys.argv))
