#!/usr/bin/python3
"""Everything of the runtime that a module may call can be called by a module: each public function ao_... stands in
the list AO_API of <ergon/ao_api.h>, and <ergon/handler.h> gives it its name.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import os
import re

import tree

HEADERS = "include/ergon"
API = "include/ergon/ao_api.h"
HANDLER = "include/ergon/handler.h"

# The server makes and frees the ports; a module is lent one.
NOT_FOR_MODULES = {"port_new", "port_free"}
OTHERS = {"client.h", "module.h", "handler.h", "ao_api.h"}

DECLARED = re.compile(r"\bao_(\w+)\s*\((?!\*)")


def declared(top):
    """Names of the functions, without ao_, and the header of each."""
    for path in tree.files(top, (HEADERS,), (".h",)):
        if os.path.basename(path) in OTHERS:
            continue
        source = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", tree.code(tree.text(top, path)), flags=re.M)
        for match in DECLARED.finditer(source):
            yield match.group(1), path


def findings(top):
    listed = re.findall(r"\bX\((\w+)\)", tree.code(tree.text(top, API)).split("struct ao_api")[0].replace("(X)", ""))
    named = re.findall(r"#define ao_(\w+)\(\.\.\.\)[\s\\]+\(ergon_host->ao->(\w+)\(__VA_ARGS__\)\)", tree.text(top, HANDLER))
    found = [f"{API}: {name} stands there twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    public = {}
    for name, path in declared(top):
        if name not in NOT_FOR_MODULES:
            public.setdefault(name, path)
    found += [f"{path}: ao_{name} is missing in AO_API ({API})" for name, path in public.items() if name not in listed]
    found += [f"{API}: {name} is no function of the public headers" for name in listed if name not in public]
    found += [f"{HANDLER}: ao_{name} is given no name" for name in listed if (name, name) not in named]
    found += [f"{HANDLER}: ao_{a} stands for {b}" for a, b in named if a != b or a not in listed]
    return found


PUBLIC = "/* ao_not(this) */\n#define AO_BOTH(a) \\\n    ao_nor_this(a)\nint ao_one(int a);\nvoid ao_two(void);\n"
LIST = "#define AO_API(X) X(one) X(two)\nstruct ao_api {};\n"
NAMES = "#define ao_one(...) (ergon_host->ao->one(__VA_ARGS__))\n#define ao_two(...)   (ergon_host->ao->two(__VA_ARGS__))\n"


def found_in(public, api, names):
    return tree.planted(findings, {HEADERS + "/ao.h": public, API: api, HANDLER: names})


def prove():
    assert not found_in(PUBLIC, LIST, NAMES), found_in(PUBLIC, LIST, NAMES)
    assert found_in(PUBLIC + "void ao_three(void);\n", LIST, NAMES)
    assert found_in(PUBLIC, LIST.replace("X(two)", "X(two) X(two)"), NAMES)
    assert found_in(PUBLIC, LIST.replace("X(two)", "X(two) X(six)"), NAMES)
    assert found_in(PUBLIC, LIST, NAMES.split("\n")[0])
    assert found_in(PUBLIC, LIST, NAMES.replace("->two", "->one"))


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
