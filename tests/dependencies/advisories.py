"""Which of the packages in a lock file the advisories of RustSec are about.

    python3 tests/dependencies/advisories.py DATABASE [LOCK …]

DATABASE is a clone of https://github.com/rustsec/advisory-db, bare or with its files: for machines that have one and
neither `cargo deny` nor a way to the network. LOCK is Cargo.lock, and those of the benchmarks and the fuzz targets. Exit code 1 means that there
are some. What is only said (`unmaintained`, `notice`) is printed, and is none.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = [ROOT / "Cargo.lock", ROOT / "lab" / "Cargo.lock", ROOT / "tests" / "fuzz" / "Cargo.lock"]
ONLY_SAID = {"unmaintained", "notice"}


def version(text):
    """What versions are compared by. One before a release is less than the release."""
    number, _, before = text.split("+")[0].partition("-")
    numbers = [int(part) for part in number.split(".")]
    return (*numbers, *[0] * (3 - len(numbers))), before == "", before


def bounds(requirement):
    """The first version that a requirement such as `^1.2` or `>= 1.2` admits, and the first behind it that it does not."""
    operator, text = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*([\w.+-]+)\s*", requirement).groups()
    return operator or "^", version(text), text


def admits(requirement, candidate):
    operator, wanted, text = bounds(requirement)
    if operator in ("^", "~"):
        numbers = [int(part) for part in text.split("-")[0].split(".")]
        fixed = 2 if operator == "~" and len(numbers) > 1 else next((n + 1 for n, part in enumerate(numbers) if part), len(numbers))
        return candidate >= wanted and candidate[0][:fixed] == wanted[0][:fixed]
    compare = {">=": "__ge__", "<=": "__le__", ">": "__gt__", "<": "__lt__", "=": "__eq__"}[operator]
    return getattr(candidate, compare)(wanted)


def affects(advisory, found):
    candidate, versions = version(found), advisory.get("versions", {})
    fine = versions.get("patched", []) + versions.get("unaffected", [])
    return not any(all(admits(part, candidate) for part in one.split(",")) for one in fine)


def advisories(database):
    """Each advisory about a crate that was not withdrawn."""
    git = ["git", "-C", str(database)]
    names = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD", "crates/"], check=True, capture_output=True, text=True)
    wanted = "".join(f"HEAD:{name}\n" for name in names.stdout.splitlines() if name.endswith(".md"))
    texts = subprocess.run([*git, "cat-file", "--batch=%(objecttype)"], input=wanted, check=True, capture_output=True, text=True)
    for front in re.findall(r"^```toml\n(.*?)^```$", texts.stdout, re.MULTILINE | re.DOTALL):
        read = tomllib.loads(front)
        if "advisory" in read and "withdrawn" not in read["advisory"]:
            yield read


def main(database, *locks):
    known = {}
    for one in advisories(database):
        known.setdefault(one["advisory"]["package"], []).append(one)
    last = subprocess.run(["git", "-C", database, "log", "-1", "--format=%cs %h"], check=True, capture_output=True, text=True)
    print(f"{sum(map(len, known.values()))} advisories, the last change of {last.stdout.strip()}")
    bad = 0
    for lock in map(Path, locks or LOCKS):
        packages = [p for p in tomllib.loads(lock.read_text())["package"] if "source" in p]
        looked_at = [(package, one) for package in packages for one in known.get(package["name"], [])]
        print(f"{lock}: {len(packages)} packages, {len(looked_at)} advisories about other versions of them or these")
        for package, one in looked_at:
            if affects(one, package["version"]):
                kind = one["advisory"].get("informational", "vulnerability")
                bad += kind not in ONLY_SAID
                print(f"{kind:15} {one['advisory']['id']}  {package['name']} {package['version']}")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
