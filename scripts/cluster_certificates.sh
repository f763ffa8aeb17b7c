#!/bin/sh
# Makes a certificate authority of its own, and a key and a certificate by it for each name: for the nodes of a cluster, or for their
# database.  FOLDER then has ca.pem, ca-key.pem, and NAME.pem and NAME-key.pem of each.  An authority that is there is kept.
#   cluster_certificates.sh FOLDER DAYS NAME…
set -eu
umask 077

folder=$1 days=$2
shift 2
mkdir -p "$folder"

# quietly COMMAND…: what it says counts only when it fails
quietly() {
    said=$("$@" 2>&1) || {
        printf '%s\n' "$said" >&2
        exit 1
    }
}

# make SUBJECT FILES EXTENSION [OPTION…]: a key and a certificate of it
make() {
    subject=$1 files=$2 extension=$3
    shift 3
    quietly openssl ecparam -name prime256v1 -genkey -noout -out "$files-key.pem"
    quietly openssl req -new -key "$files-key.pem" -subj "/CN=$subject" -out "$files.csr"
    printf '%s\n' "$extension" >"$files.ext"
    quietly openssl x509 -req -in "$files.csr" -days "$days" -extfile "$files.ext" -out "$files.pem" "$@"
    rm -f "$files.csr" "$files.ext"
    chmod 644 "$files.pem"
}

[ -s "$folder/ca.pem" ] || make "authority of a cluster" "$folder/ca" 'basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign' -signkey "$folder/ca-key.pem"
for name; do
    make "$name" "$folder/$name" "subjectAltName=DNS:$name" -CA "$folder/ca.pem" -CAkey "$folder/ca-key.pem" -CAcreateserial
done
rm -f "$folder/ca.srl"
