#!/usr/bin/env bash
# Installs the packages of a folder's package-lock.json, at its versions and with its hashes, into a directory below
# target/, unless that was done before. Nothing of them runs meanwhile. Whoever asks for the same meanwhile waits.
#
#   tests/node.sh FOLDER DIRECTORY
set -euo pipefail

folder=$1 directory=$2
mkdir -p "$directory"
(
    flock 9
    if ! cmp -s "$folder/package-lock.json" "$directory/installed.json"; then
        cp "$folder/package.json" "$folder/package-lock.json" "$directory/"
        npm --prefix "$directory" ci --ignore-scripts --no-audit --no-fund --silent
        cp "$folder/package-lock.json" "$directory/installed.json"
    fi
) 9>"$directory.lock"
