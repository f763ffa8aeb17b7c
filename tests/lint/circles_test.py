#!/usr/bin/python3
"""No file needs itself back: files that all reach each other are a circle, and the product has none.

A file reaches another when it names a function or an object that the other defines: by a call, by taking the address, in a
table. A table is an object, too, so whoever uses a table reaches the functions in it by way of the file that holds the table.
The compiler says who names what: the symbols are read from the object files of the build tree.

First the test expects to find what it planted in a tree of its own; then it reads ours.

usage: circles_test.py BUILD-DIRECTORY [-v]    -v names the functions that close a circle
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
    """{file: {file that it reaches at once: names}}; a name that several files define belongs to none."""
    defined, needed = symbols(built)
    many = collections.Counter(name for name, _ in defined)
    home = {name: path for name, path in defined if many[name] == 1}
    out = {path: collections.defaultdict(set) for path in built}
    for path in built:
        for name in needed[path]:
            if home.get(name, path) != path:
                out[path][home[name]].add(name)
    return out


def reached(out, start, within):
    seen, left = set(), [start]
    while left:
        for path in out[left.pop()] & within - seen:
            seen.add(path)
            left.append(path)
    return seen


def circles(out):
    """The sets of files that all reach each other, by way of each other alone."""
    within = set(out)
    reach = {path: reached(out, path, within) for path in within}
    return sorted({tuple(sorted(b for b in reach[a] if a in reach[b])) for a in within if a in reach[a]})


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
    names = arrows(built)
    for circle in circles({path: set(to) for path, to in names.items()}):
        found.append(f"{len(circle)} files reach each other: {' '.join(circle)}")
        for path in circle if verbose else ():
            found += [f"    {path} -> {to}: {' '.join(sorted(names[path][to]))}" for to in sorted(set(circle) & set(names[path]))]
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
    assert found_in(ring(2))
    open_ring = {**ring(4), "a0": "void f0(void) {}\n"}
    assert not found_in(open_ring)
    address = "void f1(void);\nvoid (*const table[])(void) = {f1};\n"
    assert found_in({**open_ring, "a0": address + "void f0(void) {}\n"}), "an address closes the circle"
    by_table = {**open_ring, "a0": "extern void (*const table[])(void);\nvoid f0(void) { table[0](); }\n", "t": address}
    assert found_in(by_table), "a table in a file of its own closes the circle"
    assert found_in(open_ring, stale=True)


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root(), sys.argv[1], "-v" in sys.argv))
