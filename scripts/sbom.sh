#!/bin/sh
# Prints what is installed here as a bill of materials: SPDX 2.3 in JSON, of the packages that dpkg knows, and of Ergon itself.
# It needs a shell, dpkg and awk, so it runs inside the image that it describes, when that is made.
#   sbom.sh NAME VERSION [SECONDS]    SECONDS since 1970: the time that stands in it, so that it can be made again; default: now
set -eu

name=$1 version=$2
created=$(date -u -d "@${3:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)

# shellcheck disable=SC2016 # dpkg's own variables
dpkg-query -W -f '${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n' |
    LC_ALL=C sort |
    awk -F '\t' -v name="$name" -v version="$version" -v created="$created" '
function text(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    return "\"" s "\""
}
# Of a version, as a package URL has it.
function escaped(s) {
    gsub(/%/, "%25", s)
    gsub(/\+/, "%2B", s)
    gsub(/:/, "%3A", s)
    return s
}
# An SPDX identifier has letters, digits, dots and hyphens.
function identifier(s) {
    gsub(/[^A-Za-z0-9.-]/, "-", s)
    return "SPDXRef-Package-" s
}
function package(id, what, is, url, about) {
    printf "%s    {\n      \"SPDXID\": %s,\n      \"name\": %s,\n      \"versionInfo\": %s,\n", comma, text(id), text(what), text(is)
    printf "      \"downloadLocation\": \"NOASSERTION\",\n      \"filesAnalyzed\": false,\n"
    printf "      \"licenseConcluded\": \"NOASSERTION\",\n      \"licenseDeclared\": \"NOASSERTION\",\n"
    printf "      \"copyrightText\": \"NOASSERTION\""
    if (about != "")
        printf ",\n      \"sourceInfo\": %s", text(about)
    if (url != "")
        printf ",\n      \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": %s}]", text(url)
    printf "\n    }"
    comma = ",\n"
}
BEGIN {
    document = name "-" version
    gsub(/[^A-Za-z0-9.-]/, "-", document)
    printf "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n  \"SPDXID\": \"SPDXRef-DOCUMENT\",\n"
    printf "  \"name\": %s,\n  \"documentNamespace\": %s,\n", text(name " " version), text("urn:spdx:" document "-" created)
    printf "  \"creationInfo\": {\"created\": %s, \"creators\": [\"Tool: scripts/sbom.sh\"]},\n  \"packages\": [\n", text(created)
    ours = identifier(name)
    package(ours, name, version, "", "")
}
$1 == "installed" {
    # Of one name there may be several architectures.
    id = identifier("debian-" $2 "-" $4)
    ids[++count] = id
    package(id, $2, $3, "pkg:deb/debian/" escaped($2) "@" escaped($3) "?arch=" $4, "built from " $5 " " $6)
}
END {
    printf "\n  ],\n  \"relationships\": [\n"
    printf "    {\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": %s}", text(ours)
    for (n = 1; n <= count; n++)
        printf ",\n    {\"spdxElementId\": %s, \"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": %s}", text(ours), text(ids[n])
    printf "\n  ]\n}\n"
}'
