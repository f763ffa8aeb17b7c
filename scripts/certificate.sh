#!/bin/sh
# Makes a key and a certificate that signs itself, for tests, demo and container.
#   certificate.sh SUBJECT CERT-FILE KEY-FILE DAYS [NAMES]
# The certificate is for NAMES ("DNS:ergon.example,IP:192.0.2.7"), localhost and 127.0.0.1.
set -eu
umask 077

said=$(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$4" -subj "/CN=$1" \
    -addext "subjectAltName=${5:+$5,}DNS:localhost,IP:127.0.0.1" -out "$2" -keyout "$3" 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 1
}
