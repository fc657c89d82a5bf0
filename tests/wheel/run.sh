#!/usr/bin/env bash
# Builds the wheel that carries `nagare`, installs it into an empty environment and starts it: README.md's first
# minutes, from "Without a compiler" on. Prints the wheel's size and how long each step took.
# Needs Rust, Python 3.11 or later and pip. What `cargo build --release --bins --locked` has built is used.
#
#   tests/wheel/run.sh [--record FILE]
#
# Without arguments what is printed is compared with docs/first-minutes.txt; --record makes that file again.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/target/wheel-venv
. "$here/../venv.sh"

mkdir -p "$venv"
install "$venv/build" "$here/requirements.txt"
if (($# == 0)); then set -- --compare "$root/docs/first-minutes.txt"; fi
PATH="$venv/build/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$root/tests/first-minutes/first_minutes.py" wheel "$@"

# The program from its archive, in an empty folder, and the image's file beside the program that it copies.
dist=$root/target/dist
rm -rf "$dist"
# `--workspace`: alone, what it needs would be compiled in another way than for the tests.
(cd "$root" && cargo build --quiet --workspace --bin xtask --locked && target/debug/xtask dist --parts archive,image --out "$dist")
mkdir "$dist/unpacked"
tar --extract --gzip --strip-components 1 --directory "$dist/unpacked" --file "$dist"/nagare-*.tar.gz
cd "$dist/unpacked"
env --ignore-environment HOME="$dist/unpacked" ./nagare up --detach --port 0 --data-dir "$dist/unpacked/data"
env --ignore-environment HOME="$dist/unpacked" ./nagare down
cmp nagare "$dist/nagare"
[[ -s LICENSE && -s $dist/Containerfile ]]

# cargo-binstall finds the archive, and the program in it, by what the package says of them.
"$python" - "$root" "$dist" "$(rustc -vV | sed -n 's/^host: //p')" <<'END'
import sys, tarfile, tomllib
from pathlib import Path

root, dist, target = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
said = tomllib.loads((root / "tools/cli/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
for name, value in {"version": version, "target": target, "bin": "nagare", "binary-ext": ""}.items():
    said = {key: text.replace(f"{{ {name} }}", value) for key, text in said.items()}
with tarfile.open(dist / said["pkg-url"].rpartition("/")[2]) as archive:
    archive.getmember(said["bin-dir"])
END

bash "$here/image.sh" "$dist"
