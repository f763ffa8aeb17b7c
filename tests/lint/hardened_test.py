#!/usr/bin/python3
"""ergond and ergon have the walls that a build with ERGON_HARDEN puts up, as their files say.

    hardened_test.py BUILD [PROGRAM...]

Without PROGRAMs it looks at those of the build tree, and is left out (77) where that is not built so.  The compiler's
options are asked of the tree as well: not every wall leaves a trace in a program.
"""

import json
import os
import re
import subprocess
import sys

PROGRAMS = (os.path.join("server", "ergond"), os.path.join("client", "cli", "ergon"))
OPTIONS = ("-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE=3")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def lacking(cet, head, segments, dynamic, symbols, notes):
    """What a program lacks, by what readelf says of it."""
    if not re.search(r"Type:\s+DYN", head) or "INTERP" not in segments:
        yield "it is no position-independent executable (-pie)"
    if "GNU_RELRO" not in segments:
        yield "its tables are not made read-only (-z relro)"
    if not re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic):
        yield "its symbols are bound late, so that their table stays writable (-z now)"
    if not re.search(r"GNU_STACK.*\sRW\s", segments):
        yield "its stack may be executed (-z noexecstack)"
    if "__stack_chk_fail" not in symbols:
        yield "it has no canaries (-fstack-protector-strong)"
    if not re.search(r"\b__\w+_chk\b(?<!stack_chk)", symbols.replace("__stack_chk_fail", "")):
        yield "it calls no checked function of the C library (-D_FORTIFY_SOURCE)"
    if cet and not ("IBT" in notes and "SHSTK" in notes):
        yield "it has no marks of control flow (-fcf-protection)"


def findings_of(program, cet):
    said = [readelf(*how, program) for how in (("-h",), ("-l",), ("-d",), ("--dyn-syms",), ("-n",))]
    return [f"{program}: {what}" for what in lacking(cet, *said)]


def findings_of_options(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    for c in commands:
        words = c["command"].split()
        if any(part in c["file"] for part in ("/server/", "/base/", "/proto/", "/client/")) and "/tests/" not in c["file"]:
            yield from (f"{c['file']}: is compiled without {o}" for o in OPTIONS if o not in words)


GOOD = ("Type: DYN (Position-Independent Executable file)",
        "INTERP GNU_RELRO\n GNU_STACK 0x0 0x0 0x0 0x0 0x0 RW  0x10", "(FLAGS) BIND_NOW\n(FLAGS_1) Flags: NOW PIE",
        "__stack_chk_fail@GLIBC\n __memcpy_chk@GLIBC", "Properties: x86 feature: IBT, SHSTK")
BAD = ("Type: EXEC", "INTERP GNU_STACK 0x0 RWE 0x10", "", "memcpy@GLIBC", "x86 feature used: x86")


def prove():
    assert not list(lacking(True, *GOOD)), list(lacking(True, *GOOD))
    assert len(list(lacking(True, *BAD))) == 7, list(lacking(True, *BAD))
    assert len(list(lacking(False, *BAD))) == 6, list(lacking(False, *BAD))
    for i, bad in enumerate(BAD):
        assert list(lacking(True, *GOOD[:i], bad, *GOOD[i + 1:])), f"passes with {bad!r}"


def cache_of(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        return f.read()


def is_hardened(cache):
    return "ERGON_HARDEN:BOOL=ON" in cache and not re.search(r"^ERGON_SANITIZE:\w+=\w", cache, re.M)


def main(build, programs):
    prove()
    found, cache = [], cache_of(build)
    if not programs:
        if not is_hardened(cache):
            print("hardened_test: this tree is not built with -DERGON_HARDEN=ON")
            return 77
        programs = [os.path.join(build, p) for p in PROGRAMS]
        found += findings_of_options(build)
    for program in programs:
        found += findings_of(program, "ERGON_CET:BOOL=ON" in cache)
    print("\n".join(found) or "hardened_test: nothing is lacking")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
