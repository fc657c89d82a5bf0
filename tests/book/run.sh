#!/usr/bin/env bash
# Builds the site of docs/ with mdBook, and looks whether every page is in it and every link between pages leads somewhere.
# Needs Python 3.11 and pip; the program comes as a wheel, so nothing is compiled.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/target/book-venv
. "$here/../venv.sh"

install "$venv" "$here/requirements.txt"
[[ ${1:-} != install ]] || exit 0
"$venv/bin/mdbook" build "$root"
"$python" "$here/check.py"
