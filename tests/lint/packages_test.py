#!/usr/bin/python3
"""The Debian packages follow the tree: one version, the libraries that a build needs, and the user that the unit names.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import re

import tree


def first(pattern, text):
    match = re.search(pattern, text, re.M)
    return match[1] if match else None


def findings(top):
    version = first(r"^project\(ergon VERSION ([\d.]+)", tree.text(top, "CMakeLists.txt"))
    changelog = first(r"\Aergon \(([^)]*)\)", tree.text(top, "debian/changelog"))
    if version != changelog:
        yield f"debian/changelog: its version is {changelog}, that of CMakeLists.txt {version}"

    image = first(r"^ARG VERSION=(\S+)", tree.text(top, "Dockerfile"))
    if version != image:
        yield f"Dockerfile: VERSION is {image}, that of CMakeLists.txt {version}"

    # What only tests need is no dependency of a build; ninja and the like are found by the build itself.
    wanted = first(r'^build="([^"]*)"', tree.text(top, "scripts/setup.sh")).split()
    control = tree.text(top, "debian/control")
    for package in wanted:
        if package.endswith("-dev") and package != "libcmocka-dev" and not re.search(rf"^ {re.escape(package)}\b", control, re.M):
            yield f"debian/control: {package}, which scripts/setup.sh installs to build, is no Build-Depends"

    user = first(r"^User=(\S+)", tree.text(top, "dist/ergond.service"))
    if f" {user}\n" not in tree.text(top, "debian/ergon-server.postinst").replace("'", ""):
        yield f"debian/ergon-server.postinst does not make the user {user} of the unit"
    if not re.search(rf"^u {user} ", tree.text(top, "dist/ergon.sysusers.conf"), re.M):
        yield f"dist/ergon.sysusers.conf does not make the user {user} of the unit"


GOOD = {
    "CMakeLists.txt": "project(ergon VERSION 1.2.3 LANGUAGES C)\n",
    "debian/changelog": "ergon (1.2.3) unstable; urgency=medium\n",
    "Dockerfile": "ARG VERSION=1.2.3\n",
    "scripts/setup.sh": 'build="cmake libcmocka-dev liba-dev"\n',
    "debian/control": "Build-Depends:\n cmake,\n liba-dev,\n",
    "dist/ergond.service": "User=somebody\n",
    "debian/ergon-server.postinst": "adduser --system somebody\n",
    "dist/ergon.sysusers.conf": 'u somebody - "S"\n',
}


def prove():
    assert not tree.planted(findings, GOOD)
    for path, bad in (("Dockerfile", "ARG VERSION=1\n"), ("debian/changelog", "ergon (1.2.4) unstable\n"), ("debian/control", " libab-dev,\n"),
                      ("dist/ergond.service", "User=else\n"), ("dist/ergon.sysusers.conf", "u else -\n")):
        assert tree.planted(findings, {**GOOD, path: bad}), path


if __name__ == "__main__":
    prove()
    tree.report(list(findings(tree.root())))
