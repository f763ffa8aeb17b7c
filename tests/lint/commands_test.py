#!/usr/bin/python3
"""The documents and `ergon` agree: `--help` of each command has the same parts as all others and is what `ergon help` prints, each
command and each of its options stands in ergon(1), each option of `ergond` in ergond(8), and each line that a document shows names
commands and options that there are.  Names of other programs (synonyms.c) lead to commands and options that there are.

First the test expects to find what it planted; then it reads ours.   commands_test.py BUILD
"""

import glob
import os
import re
import shlex
import subprocess
import sys

import tree

PAGES = ("README.md", "docs/*.md", "clients/**/*.md", "examples/**/*.md", "debian/*.md")
WIDTH = 80  # of a line of help, which people read in terminals
OPTION = re.compile(r"^  (?:-(\w), |    )?--([a-z][a-z-]*)(?:\[=[A-Z]+\]| ([A-Z]\S*))?(?: |$)", re.M)
# `in backquotes`, and lines of a block, also behind a prompt.
SHOWN = re.compile(r"`((?:ergond?)(?: [^`\n]*)?)`|^ *(?:\$ )?((?:ergond?) .*)$", re.M)
BLOCK = re.compile(r"^(?:```\w*\n.*?^```|(?:    .*\n)+)", re.M | re.S)


class Command:
    """What `--help` says of one: its options, each with whether it takes a value, and its parts."""

    def __init__(self, text):
        self.text = text
        self.flags = {}
        for letter, name, value in OPTION.findall(text):
            self.flags["--" + name] = bool(value)
            if letter:
                self.flags["-" + letter] = bool(value)
        parts = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
        self.parts = re.findall(r"^  ([a-z][a-z -]*[a-z])  ", parts[1], re.M) if parts else []


def read_help(program):
    """{"task get": Command} of all, "" being the program itself."""

    def ask(*words):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        return done.stdout

    found = {"": Command(ask("--help"))}
    for name in found[""].parts:
        found[name] = Command(ask(name, "--help"))
    for group in [c for c in found if c and found[c].parts]:
        for name in found[group].parts:
            found[name] = Command(ask(*name.split(), "--help"))
    return found, ask


def of_form(commands, ask):
    for name, command in commands.items():
        if not name:
            continue
        if not command.text.startswith(f"Usage: ergon {name}"):
            yield f"ergon {name} --help does not begin with its usage"
        if ask("help", *name.split()) != command.text:
            yield f"ergon help {name} is not what ergon {name} --help prints"
        if "\nExamples:\n  " not in command.text:
            yield f"ergon {name} --help has no examples"
        yield from (f"ergon {name} --help has a line of {len(line)} characters: {line}" for line in command.text.split("\nExamples:\n")[0].splitlines() if len(line) > WIDTH)


def in_manual(commands, roff, page):
    text = roff.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace('"', "")
    for name, command in commands.items():
        if name and not re.search(rf"\b{re.escape(name)}\b", text):
            yield f"{page} does not name the command {name}"
        for flag in command.flags:
            if flag.startswith("--") and not re.search(rf"{re.escape(flag)}(?![a-z-])", text):
                yield f"{page} does not name {flag}, which {('ergon ' + name).strip()} has"


def words_of(line):
    """Of the first command of a line; None where a shell would want more of it."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
        lexer.whitespace_split = True
        words = []
        for word in lexer:
            if re.fullmatch(r"[|;&<>()]+", word):
                break
            words.append(word)
        return words
    except ValueError:
        return None


def wrong_in(words, commands):
    """What is no command or option in these words behind `ergon`; a word with other letters stands for something."""
    name, at = "", 0
    while at < len(words):
        word = words[at]
        at += 1
        known = {**commands[""].flags, **commands[name].flags}
        if word == "--":
            return None
        if re.match(r"--?[a-z]", word) and re.fullmatch(r"-[a-z]|--[a-z][a-z-]*(=.*)?", word):
            flag = word.split("=")[0]
            if flag not in known and name != "completion":
                return f"ergon {name} has no option {flag}"
            at += known.get(flag, False) and "=" not in word
        elif name == "" and word == "help":
            return None
        elif name == "" or commands[name].parts and " " not in name:
            whole = f"{name} {word}".strip()
            if whole in commands:
                name = whole
            elif re.fullmatch(r"[a-z-]+", word) and not (name and commands[name].flags.keys() - commands[""].flags.keys()):
                return f"there is no ergon {whole}"
            else:
                return None
    return None


def in_documents(commands, server, top):
    for page in sorted({p for pattern in PAGES for p in glob.glob(pattern, root_dir=top, recursive=True)}):
        text = tree.text(top, page)
        blocks = "\n".join(BLOCK.findall(text))
        lines = {span for span, _ in SHOWN.findall(text) if span} | {line for _, line in SHOWN.findall(blocks) if line}
        for line in sorted(lines):
            words = words_of(line.split("…")[0])
            if words and words[0] == "ergon":
                wrong = wrong_in(words[1:], commands)
                if wrong:
                    yield f"{page}: {wrong}: {line}"
            elif words:
                yield from (f"{page}: ergond has no option {flag}: {line}" for flag in re.findall(r" (--[a-z][a-z-]*)", " ".join([" "] + words[1:]))
                            if flag not in server.flags)


def synonyms(source, commands):
    """What is wrong with the tables of client/cli/synonyms.c."""
    tables = {name: re.findall(r'\{(?:"([^"]*)"|NULL),\s*"([^"]*)",\s*"([^"]*)"\}', rows) for name, rows in re.findall(r"struct synonym ([A-Z]+)\[\] = \{(.*?)\n\};", source, re.S)}
    assert all(tables[name] for name in ("ALIASES", "LIKELY", "OPTIONS")), tables
    parts = {group: {c.rpartition(" ")[2] for c in commands if c and c.rpartition(" ")[0] == group} for group in ["", *(c for c in commands if c and commands[c].parts)]}
    every = {flag for c in commands.values() for flag in c.flags}
    for name in ("ALIASES", "LIKELY"):
        seen = set()
        for group, words, meant in tables[name]:
            groups = [g for g in parts if g] if group == "*" else [group]
            if name == "ALIASES":
                targets = [f"{g} {meant}".strip() for g in groups if group != "*" or meant in parts[g]]
            else:
                targets = re.findall("'([^']*)'", meant)
            if not targets:
                yield f"'{words}' of '{group}' means nothing: {meant}"
            yield from (f"'{words}' of '{group}' is said to mean '{t}': {wrong}" for t in targets for wrong in [wrong_in(t.split(), commands)] if wrong)
            for word in words.split():
                if (group, word) in seen or any(word in parts[g] for g in groups):
                    yield f"'{word}' of '{group}' stands twice, or is a command"
                seen.add((group, word))
    yield from (f"'{words}' are said to mean --{meant}, which is no option" for _, words, meant in tables["OPTIONS"] if "--" + meant.split()[0] not in every)


def prove():
    get = Command("Usage: ergon task get ID\n\nOptions:\n  -n, --limit N   how many\n      --all       all\n\nExamples:\n  ergon task get x\n")
    commands = {"": Command("Commands:\n  task   tasks\n\nOptions:\n  -s, --server URL   where\n"),
                "task": Command("Usage: ergon task\n\nCommands:\n  task get   one\n\nExamples:\n  ergon task get x\n"), "task get": get}
    assert get.flags == {"-n": True, "--limit": True, "--all": False}, get.flags
    assert commands["task"].parts == ["task get"]
    for good in ("", "task get x --limit 3 -n 3 --all", "-s task task get", "task get -- --none", "task ID", "help none", "--server=x task"):
        assert not wrong_in(good.split(), commands), good
    for bad in ("tusk", "task got", "task get --none", "-x task", "task get --limits 3"):
        assert wrong_in(bad.split(), commands), bad
    assert words_of("ergon call x '[1, 2]' | head -1; ergon tusk") == ["ergon", "call", "x", "[1, 2]"]
    assert list(in_manual(commands, "task, task get \\-\\-limit, \\-\\-all, \\-\\-server", "page")) == []
    assert list(in_manual(commands, "task, task get \\-\\-limit, \\-\\-all\\-tasks, \\-\\-server", "page"))
    rows = ('static const struct synonym ALIASES[] = {\n    {"*", "show", "get"},\n};\nstatic const struct synonym LIKELY[] = {\n    {"task", "gat", "\'task get\'"},\n};\n'
            'static const struct synonym OPTIONS[] = {\n    {NULL, "max", "limit"},\n};\n')
    assert not list(synonyms(rows, commands))
    for good, bad in (('"get"}', '"got"}'), ("'task get'", "'task got'"), ('"gat"', '"get"'), ('"limit"', '"limits"')):
        assert list(synonyms(rows.replace(good, bad), commands)), bad
    assert list(of_form({"x": Command("usage: x")}, lambda *_: "y"))


if __name__ == "__main__":
    prove()
    build = os.path.abspath(sys.argv[1])
    os.environ["ERGON_CONTEXT"] = ""
    top = tree.root()
    commands, ask = read_help(os.path.join(build, "client", "cli", "ergon"))
    server = Command(subprocess.run([os.path.join(build, "server", "ergond"), "--help"], capture_output=True, text=True, timeout=60, check=True).stdout)
    assert len(commands) > 50 and len(server.flags) > 20
    tree.report([*of_form(commands, ask), *in_manual(commands, tree.text(top, "docs/man/ergon.1"), "docs/man/ergon.1"),
                 *in_manual({"": server}, tree.text(top, "docs/man/ergond.8"), "docs/man/ergond.8"), *in_documents(commands, server, top),
                 *synonyms(tree.text(top, "client/cli/synonyms.c"), commands)])
