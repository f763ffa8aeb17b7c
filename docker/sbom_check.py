#!/usr/bin/python3
"""Whether a bill of materials is SPDX 2.3 as far as its schema demands it, and names what is installed, and nothing else.

    sbom_check.py FILE PACKAGES        PACKAGES: lines of name and version, as dpkg-query prints them
"""

import json
import re
import sys

IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
NEEDED = ("SPDXID", "name", "downloadLocation", "versionInfo")


def findings(bill, installed):
    for key, value in (("spdxVersion", "SPDX-2.3"), ("dataLicense", "CC0-1.0"), ("SPDXID", "SPDXRef-DOCUMENT")):
        if bill.get(key) != value:
            yield f"{key} is {bill.get(key)!r}"
    if not re.fullmatch(r"[a-z]+:[^#\s]+", bill.get("documentNamespace", "")) or not bill.get("name"):
        yield "name or documentNamespace is missing"
    created = bill.get("creationInfo", {})
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created.get("created", "")):
        yield "creationInfo.created is no time"
    if not all(re.match(r"(Tool|Person|Organization): ", c) for c in created.get("creators") or [""]):
        yield "creationInfo.creators is not as SPDX has it"
    identifiers = [package.get("SPDXID", "") for package in bill["packages"]]
    if len(set(identifiers)) != len(identifiers) or not all(IDENTIFIER.fullmatch(i) for i in identifiers):
        yield "identifiers of packages are not unique, or none"
    for package in bill["packages"]:
        for key in NEEDED:
            if not package.get(key):
                yield f"{package.get('name')}: {key} is missing"
    known = {"SPDXRef-DOCUMENT", *identifiers}
    for relation in bill["relationships"]:
        if not {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known:
            yield f"a relation names what is not there: {relation}"
    named = {(package["name"], package["versionInfo"]) for package in bill["packages"] if package.get("externalRefs")}
    for name, version in sorted(installed ^ named):
        yield f"{name} {version} is {'installed and not named' if (name, version) in installed else 'named and not installed'}"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        bill = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        installed = {tuple(line.split()) for line in f}
    found = list(findings(bill, installed))
    print("\n".join(found) or f"{len(installed)} packages named")
    return 1 if found or len(installed) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
