#!/usr/bin/python3
"""The packages of Python, Node and Go, and the programs that use them, as their own languages' checkers want them: mypy
--strict, tsc, go vet, gofmt, and the default rules of ruff and ESLint."""
import glob
import os
import subprocess
import sys
import tempfile

import tree

ROOT = tree.root()
sys.path[:0] = [os.path.join(ROOT, "tests", "interop")]
os.environ.setdefault("ERGON_BUILD", os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build"))

import interop  # noqa: E402  # it looks for the folder of npm in the environment

MODULES = os.path.join(interop.NPM, "node_modules")
CLIENTS = os.path.join(ROOT, "clients")


def files(*patterns):
    return sorted(path for pattern in patterns for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)
                  if "node_modules" not in path)


def said(*argv, **more):
    """What it prints, if anything is wrong."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    return done.stdout if done.returncode != 0 or done.stdout else ""


def of_rules(paths):
    done = subprocess.run(["node", os.path.join(ROOT, "tests", "lint", "clients_lint.js"), *paths], capture_output=True,
                          text=True, check=False, env={**os.environ, "NODE_PATH": MODULES})
    return done.stdout + done.stderr


def prove(folder):
    """Both say something of what is wrong."""
    for name, text in (("a.py", "import os\n"), ("a.js", "const unused = 1;\n")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        assert name in of_rules([path]), f"nothing is said of {text!r}"


def findings(folder):
    ours = files("examples/programs/*_ergon.*")
    yield of_rules(files("clients/**/*.py", "clients/**/*.js") + [path for path in ours if not path.endswith(".go")])
    packages = [path for path in glob.glob(os.path.join(CLIENTS, "python", "ergon_*")) if os.path.isdir(path)]
    for paths in ([*packages, *files("clients/python/tests/*.py", "clients/python/examples/*.py")],
                  *([path] for path in ours if path.endswith(".py"))):
        yield said("mypy", "--strict", "--enable-incomplete-feature=Unpack", "--no-error-summary", "--cache-dir",
                   os.path.join(folder, "mypy"), *paths, env={**os.environ, "MYPYPATH": os.path.join(CLIENTS, "python")})
    yield said("node", os.path.join(MODULES, "typescript", "bin", "tsc"), "-p", os.path.join(CLIENTS, "node", "tests"),
               "--typeRoots", os.path.join(MODULES, "@types"))
    go = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    yield said("go", "vet", "./...", cwd=os.path.join(CLIENTS, "go"), env=go)
    yield said("gofmt", "-l", os.path.join(CLIENTS, "go"), os.path.join(ROOT, "examples"))


if __name__ == "__main__":
    interop.needs("mypy", "go")
    interop.needs_npm()
    with tempfile.TemporaryDirectory() as scratch:
        prove(scratch)
        tree.report([line for text in findings(scratch) for line in text.splitlines()])
