#!/usr/bin/env bash
# Tries the console in Debian's Chromium: tests/console/test_*.py. Needs Python 3.11 or later, Node.js,
# target/release/nagare, and the package `chromium`, which is installed where apt-get can do it.
#
#   tests/console/run.sh [install | first-page | beside | ARGUMENTS OF PYTEST]
#
# `install` only installs; `first-page` prints how large the first page is and how fast it is shown; `beside` what open
# pages take from the stack.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/target/console-venv
. "$here/../venv.sh"

if [[ ! -x /usr/bin/chromium ]]; then
    command -v apt-get >/dev/null || { echo "chromium is missing, and there is no apt-get to install it with" >&2; exit 2; }
    # Where no list of packages has been fetched yet it is fetched first.
    apt=(apt-get --quiet --yes --no-install-recommends install chromium)
    "${apt[@]}" >/dev/null 2>&1 || { apt-get --quiet update && "${apt[@]}"; } ||
        { echo "chromium is missing, and apt-get does not install it (it needs root)" >&2; exit 2; }
fi
install "$venv" "$here/requirements.txt"
bash "$here/../node.sh" "$here" "$root/target/console-axe"
[[ ${1:-} != install ]] || exit 0

[[ -x ${NAGARE_BIN:-$root/target/release/nagare} ]] ||
    { echo "nagare is not built: cargo build --release --bins --locked" >&2; exit 2; }
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == first-page ]]; then exec "$venv/bin/python" "$here/first_page.py"; fi
if [[ ${1:-} == beside ]]; then exec "$venv/bin/python" "$here/beside.py"; fi
exec "$venv/bin/python" -m pytest --quiet -p no:cacheprovider "$here" "$@"
