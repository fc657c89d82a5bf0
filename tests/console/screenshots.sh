#!/usr/bin/env bash
# Takes the pictures of README.md and docs/CONSOLE.md again: docs/console/*.png. Needs what tests/console/run.sh needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bash "$here/run.sh" install
PYTHONDONTWRITEBYTECODE=1 exec "$here/../../target/console-venv/bin/python" "$here/screenshots.py"
