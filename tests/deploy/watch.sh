#!/usr/bin/env bash
# Tries README.md's "The functions one by one": `cargo lambda watch` against `nagare up`.
# Needs Rust, Python 3.11 or later, pip, and target/release/nagare.
#
#   tests/deploy/watch.sh [DIRECTORY]
#
# DIRECTORY is where the tools are installed, target/deploy-venv if it is not given.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${1:-$root/target/deploy-venv}
sam=$root/target/template-venv/sam
. "$here/../venv.sh"

mkdir -p "$venv"
install "$sam" "$here/../template/requirements.txt"
install "$venv/build" "$here/requirements-build.txt"
export PATH="$venv/build/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
exec "$sam/bin/python" -m pytest -q -p no:cacheprovider "$here/test_watch.py"
