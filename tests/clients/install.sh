#!/usr/bin/env bash
# Installs what generates and runs the TypeScript client into target/clients, at the versions and with the hashes of
# package-lock.json. Nothing of it runs while it is installed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
directory=$here/../../target/clients
mkdir -p "$directory"
(
    flock 9
    if ! cmp -s "$here/package-lock.json" "$directory/installed.json"; then
        cp "$here/package.json" "$here/package-lock.json" "$directory/"
        npm --prefix "$directory" ci --ignore-scripts --no-audit --no-fund --silent
        cp "$here/package-lock.json" "$directory/installed.json"
    fi
) 9>"$directory.lock"
