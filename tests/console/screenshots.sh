#!/usr/bin/env bash
# Takes the pictures of README.md and docs/CONSOLE.md again. Needs what tests/console/run.sh needs.
#
#   tests/console/screenshots.sh [DIRECTORY]
#
# DIRECTORY is where they go, docs/console if it is not given.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bash "$here/run.sh" install
PYTHONDONTWRITEBYTECODE=1 exec "$here/../../target/console-venv/bin/python" "$here/screenshots.py" "$@"
