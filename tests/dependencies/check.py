"""Which dependencies may come in: licences, sources, what must not be there, what nothing uses; and that
everything is pinned, for cargo by the lock file, for pip by the hashes of all packages. And which modules of
`shared` may know which others, who may name what, and how files lie in folders.

Reads `cargo metadata` and this repository, so it needs no network and no further tool. Advisories need a
database that no package registry serves; `cargo deny check advisories` (deny.toml, .github/workflows) covers them where
it can be fetched, and advisories.py where there is a clone of it.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = [
    "dlq-alerter", "event-intake", "fanout-writer", "history-projector", "history-reader", "period-keeper", "projector", "timeline-reader",
]


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return json.loads(answer.stdout)


def admitted(expression, allowed):
    """True if the licence expression can be met with allowed licences alone."""
    either = re.split(r"\s+OR\s+|/", expression.replace("(", " ").replace(")", " "))
    return any(all(term.strip() in allowed for term in re.split(r"\s+AND\s+", part)) for part in either)


def reachable(data, root):
    """Names of the packages that end up in a package's binary."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in data["packages"]}
    (start,) = [i for i, name in names.items() if name == root]
    seen, todo = set(), [start]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for dependency in nodes[node]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if None in kinds:
                todo.append(dependency["pkg"])
    return {names[node] for node in seen}


def problems(data, rules):
    allowed = set(rules["licenses"]["allow"]) | {"Apache-2.0 WITH LLVM-exception"}
    denied = set(rules["bans"]["deny"])
    for package in data["packages"]:
        name = f"{package['name']} {package['version']}"
        if package["source"] is None:
            continue
        if not package["source"].startswith("registry+"):
            yield f"{name} comes from {package['source']}"
        if not admitted(package.get("license") or "", allowed):
            yield f"{name} has the licence {package.get('license')!r}"
        if package["name"] in denied:
            yield f"{name} must not come in"
    for function in FUNCTIONS:
        found = reachable(data, function)
        for one in ({"hyper", "ureq", "reqwest", "isahc"}, {"rustls", "native-tls", "openssl"}):
            stacks = sorted(one & found)
            if len(stacks) != 1:
                yield f"{function} has {stacks}, expected one of {sorted(one)}"


# Dependencies that are there for their features alone (tools/cli/Cargo.toml says why).
FOR_FEATURES = {("nagare", "getrandom")}


def unused(data):
    """Dependencies of our own packages that no source of the package names."""
    for package in data["packages"]:
        if package["source"] is not None:
            continue
        folder = Path(package["manifest_path"]).parent
        sources = "\n".join(file.read_text() for file in folder.rglob("*.rs"))
        libraries = {p["name"]: next(iter(library_names(p)), p["name"]) for p in data["packages"]}
        for dependency in package["dependencies"]:
            name = (dependency["rename"] or libraries[dependency["name"]]).replace("-", "_")
            if (package["name"], name) not in FOR_FEATURES and not re.search(rf"\b{name}\b", sources):
                yield f"{package['name']} does not use {dependency['name']}"


def features(*selection):
    """The features that each package is built with, by its name and version."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *selection]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    built = {}
    for package, sets in (line.split("|", 1) for line in lines if "|" in line):
        built.setdefault(package.split(" (")[0], set()).add(sets.removesuffix(" (*)"))
    return built


def compiled_twice():
    """What `cargo test --workspace` would compile again, since `cargo run` builds it with other features."""
    run = features("--edges", "normal,build")
    others = {
        "to test": features("--workspace", "--edges", "normal,build,dev"),
        "for benchmarks": features("--manifest-path", "lab/Cargo.toml", "--package", "nagare-bench", "--edges", "normal,build"),
    }
    for purpose, other in others.items():
        for package in sorted(run.keys() & other.keys()):
            if run[package] != other[package]:
                yield f"{package} is built with {sorted(run[package])} to run and with {sorted(other[package])} {purpose}"


def library_names(package):
    kinds = {"lib", "rlib", "proc-macro", "cdylib"}
    return [target["name"] for target in package["targets"] if kinds & set(target["kind"])]


def unlisted(data):
    """Dependencies that the workspace lists and no package takes."""
    listed = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    ours = [package for package in data["packages"] if package["source"] is None]
    taken = {dependency["name"] for package in ours for dependency in package["dependencies"]}
    yield from (f"the workspace lists {name}, which no package takes" for name in listed.keys() - taken)


# A line that installs or builds something, and what it has to say.
INSTALLING = (
    (re.compile(r"^\s*(\S+=\S+ )*cargo (build|test|clippy|doc|run)\b"), "--locked"),
    (re.compile(r"\bpip install\b"), "--require-hashes"),
    # `ci` takes what the lock file has, by its hashes.
    (re.compile(r"\bnpm\b"), " ci --ignore-scripts"),
)
PINNED = re.compile(r"([A-Za-z0-9_.-]+)(\[[a-z0-9, ]+\])?==[^\s;]+( ; [^\\]+)?( \\\n +--hash=sha256:[0-9a-f]{64})+")


def unpinned(root=ROOT):
    """Packages of Python's without a version or a hash, and scripts that take whatever there is."""
    files = sorted([*root.glob("tests/*/requirements*.txt"), *root.glob("lab/*/requirements*.txt")])
    if {path.with_suffix(".in") for path in files} != {*root.glob("tests/*/requirements*.in"), *root.glob("lab/*/requirements*.in")}:
        yield "each requirements*.in has a requirements*.txt that was made of it, and nothing else has"
    for path in files:
        text = re.sub(r"^ *#.*\n", "", path.read_text(), flags=re.MULTILINE).strip()
        pinned = [PINNED.fullmatch(entry) for entry in re.split(r"\n(?! )", text)]
        names = {match[1].lower() for match in pinned if match}
        wanted = re.findall(r"^[A-Za-z0-9_.-]+", path.with_suffix(".in").read_text(), re.MULTILINE)
        if not all(pinned) or not {name.lower() for name in wanted} <= names:
            yield f"{path.relative_to(root)} is not what was made of its .in, with a hash for every package"
    for lock in root.glob("tests/**/package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        if not all("integrity" in package for name, package in packages.items() if name):
            yield f"{lock.relative_to(root)} lacks the hash of a package"
    for script in [root / ".ci/run", *root.glob("tests/**/*.sh")]:
        yield from unflagged(script, INSTALLING, root)
    # What readers are told to type; how they install tools is up to them.
    for page in [root / "README.md", *root.glob("docs/*.md")]:
        yield from unflagged(page, INSTALLING[:1], root)


def unflagged(file, installing, root):
    for line in file.read_text().splitlines():
        for pattern, flag in installing:
            if pattern.search(line) and flag not in line:
                yield f"{file.relative_to(root)}: {line.strip()!r} without {flag}"


# The wings of shared, and what each sees besides itself.
WINGS = {"platform": set(), "social": {"platform"}, "history": {"platform"}}
# The lists of what the features declare. They see all wings, and no wing sees them.
LISTS = ["command", "ledger_item", "stored"]
# Features that others are built on. No other feature is seen by a feature.
SEEN_BY_FEATURES = {
    "notifications": {"activities", "likes"},
    "timelines": {"activities", "follows"},
    "fanout": {"activities", "follows"},
    "summaries": {"events"},
    "tenants": {"events", "summaries"},
    "refusals": {"events", "tenants"},
}


def layers(wing, root=ROOT):
    """The modules of a wing, in the order of the table in its documentation: each sees only what stands before it."""
    text = (root / f"shared/src/{wing}/mod.rs").read_text(encoding="utf-8")
    modules = set(re.findall(r"^pub mod (\w+);", text, re.MULTILINE))
    order = re.findall(r"^//! (\w+) {2,}\S", text, re.MULTILINE)
    return order, sorted(modules ^ set(order))


def upwards(root=ROOT):
    """What a module of shared uses and should not know."""
    source = root / "shared/src"
    orders = {}
    for wing in WINGS:
        orders[wing], unplaced = layers(wing, root)
        yield from (f"shared: {name} has no place in the layers of {wing}" for name in unplaced)
    for path in source.rglob("*.rs"):
        wing, *inside = path.relative_to(source).parts
        wing = wing.removesuffix(".rs")
        if wing == "lib" or path.name == "tests.rs" or inside == ["mod.rs"]:
            continue
        code = without_tests(re.sub(r"^ *//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
        named = set(re.findall(r"crate::(\w+)(?:::(\w+|\{))?", code))
        if wing in LISTS:
            above = LISTS[: LISTS.index(wing) + 1]
            yield from (f"{path.relative_to(root)} uses {used}" for used, _ in named if used in LISTS and used not in above)
            continue
        module = inside[0].removesuffix(".rs")
        for used, what in named:
            if used in LISTS or used in WINGS and used not in WINGS[wing] | {wing}:
                yield f"{path.relative_to(root)} uses {used}, which {wing} must not know"
            elif used in WINGS and what == "{":
                yield f"{path.relative_to(root)} names several modules of {used} at once: a line for each"
            elif used == wing and what != module and not is_above(orders[wing], what, module):
                yield f"{path.relative_to(root)} uses {what}, which {module} must not know"


def without_tests(code):
    """A source up to its tests, which stand at its end."""
    return code.split("\n#[cfg(test)]\nmod tests {", 1)[0]


def is_above(order, used, module):
    """True if a module of the same wing is one that the other may see."""
    before = used in order and order.index(used) < order.index(module)
    return before and (used not in FEATURES or used in SEEN_BY_FEATURES.get(module, set()))


FEATURES = {*layers("social")[0], *layers("history")[0]}

# What code of the functions is of one wing, or of none: it names no module of another. The writer's features have a folder for each.
WING_OF = {
    "functions/timeline-reader": "social",
    "functions/projector": "social",
    "functions/fanout-writer/src/apply/social": "social",
    "functions/history-reader": "history",
    "functions/history-projector": "history",
    "functions/event-intake": "history",
    "functions/period-keeper": "history",
    "functions/fanout-writer/src/apply/history": "history",
    "functions/dlq-alerter": "platform",
    "functions/http": "platform",
    "functions/lambda": "platform",
    "functions/stream": "platform",
}
# What is part of a function, and what functions share.
LIBRARIES = {"http": "function-http", "lambda": "function-lambda", "stream": "function-stream"}


def across(root=ROOT):
    """What code of one wing names of the other; and functions that depend on functions."""
    for folder, wing in WING_OF.items():
        paths = sorted((root / folder).rglob("*.rs"))
        if not paths:
            yield f"{folder} has no code"
        for path in paths:
            named = set(re.findall(r"\bshared::(\w+)", path.read_text(encoding="utf-8")))
            for other in sorted(named & WINGS.keys() - WINGS[wing] - {wing}):
                yield f"{path.relative_to(root)} uses shared::{other}, which {wing} must not know"
    folders = sorted(path.parent for path in root.glob("functions/*/Cargo.toml"))
    crates = {tomllib.loads((folder / "Cargo.toml").read_text())["package"]["name"] for folder in folders}
    for folder in folders:
        taken = tomllib.loads((folder / "Cargo.toml").read_text())["dependencies"].keys() & crates
        yield from (f"{folder.relative_to(root)} depends on {one}" for one in sorted(taken - set(LIBRARIES.values())))


def model(root=ROOT):
    """Modules of the model that name one of a wing that theirs must not know."""
    for wing, known in WINGS.items():
        for path in sorted((root / f"tests/model/{wing}").rglob("*.rs")):
            named = set(re.findall(r"\bcrate::(\w+)", path.read_text(encoding="utf-8")))
            for other in sorted(named & WINGS.keys() - known - {wing}):
                yield f"{path.relative_to(root)} uses {other}, which {wing} must not know"


# Crates whose `lib.rs` only declares modules and exports what is public.
WIRED = ["functions/*", "tools/console"]


def from_root(root=ROOT):
    """Files that import something from the root of such a crate, and not from the module that has it."""
    for lib in sorted(lib for crates in WIRED for lib in root.glob(f"{crates}/src/lib.rs")):
        modules = set(re.findall(r"^(?:pub )?mod (\w+);", lib.read_text(encoding="utf-8"), re.MULTILINE))
        for path in sorted(lib.parent.rglob("*.rs")):
            if path == lib or path.name == "main.rs":
                continue
            code = re.sub(r"^ *//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            for name in sorted(set(first_segments(code)) - modules):
                yield f"{path.relative_to(root)} takes {name} from the root of its crate, and not from the module that has it"
            if path.parent == lib.parent and re.search(r"^use super::", code, re.MULTILINE):
                yield f"{path.relative_to(root)} imports from `super`, which is the root of its crate"


def first_segments(code):
    """What paths name after `crate::`, except in exported macros (`$crate::`)."""
    for name, several in re.findall(r"(?<!\$)\bcrate::(?:(\w+)|\{([^;]*)\})", code):
        if name:
            yield name
        while re.search(r"\{[^{}]*\}", several):
            several = re.sub(r"\{[^{}]*\}", "", several)
        yield from (segment.split("::")[0].strip() for segment in several.split(",") if segment.strip())


# Folders of modules.
SOURCES = ["functions", "shared", "tools", "tests", "lab"]


def folders(root=ROOT):
    """Folders for one file; and files beside a folder of the same name, whose place is `mod.rs`."""
    files = [path for folder in SOURCES for path in sorted((root / folder).rglob("*.rs"))]
    for folder in sorted({path.parent for path in files}):
        below = [path for path in files if path.is_relative_to(folder)]
        if len(below) == 1 and below[0].name not in ("lib.rs", "main.rs"):
            yield f"{folder.relative_to(root)} is a folder for one file"
        if folder.with_suffix(".rs") in files:
            yield f"{folder.with_suffix('.rs').relative_to(root)} has its place in {folder.relative_to(root)}/mod.rs"


# Who names the mark of what is over. Only operators mark, and look for marks; what is stated anew takes a mark off, one
# write takes it along, polls, battles, votes, messages and who reads know by it that they were erased, and some things are born
# with it: what clients have seen, notifications that were read, that a message marked all, barriers, checkpoints, keepers
# at work, and what is left of listings, rows of follows and messages that are over.
MARKING = {"ledger.rs", "hidden.rs", "store.rs", "view.rs", "list.rs", "read.rs", "marking.rs", "barrier.rs", "facts.rs"}
MARKING |= {"seen_sets.rs", "register.rs", "posting.rs", "idle_viewers.rs", "recording.rs", "checkpoints.rs", "mark.rs", "leases.rs", "periods.rs"}
MARKING |= {"receipts.rs", "counting.rs", "progress.rs"}


def names():
    """What the mark of what is over is named by; and that a function names no variable that its `env.rs` does not declare."""
    sources = {path: path.read_text(encoding="utf-8") for folder in ("shared", "functions") for path in (ROOT / folder).rglob("*.rs")}
    marking = {path.name for path, text in sources.items() if "FORGET_AT" in text}
    if marking != MARKING:
        yield f"FORGET_AT is named by others than it was: {sorted(marking ^ MARKING)}"
    for path, text in sources.items():
        if path.name == "main.rs" and "runtime::env" in text:
            yield f"{path.relative_to(ROOT)} reads variables past its env.rs"


def locked(path):
    """The versions of each package of a lock file."""
    versions = {}
    for package in tomllib.loads((ROOT / path).read_text())["package"]:
        versions.setdefault(package["name"], set()).add(package["version"])
    return versions


def measured():
    """Packages of which benchmarks have other versions than the project."""
    ours, theirs = locked("Cargo.lock"), locked("lab/Cargo.lock")
    for name in sorted(ours.keys() & theirs.keys()):
        if not theirs[name] <= ours[name]:
            yield f"lab/Cargo.lock has {name} {sorted(theirs[name])}, Cargo.lock has {sorted(ours[name])}"


def makers():
    """Who has credentials made by programs: people, and no function as it is deployed."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    deployed = workspace["metadata"]["lambda"]["build"].get("packages", workspace["default-members"])
    if sorted(deployed) != FUNCTIONS:
        yield f"`sam build` builds {deployed} together, expected {FUNCTIONS}"
    for packages, wanted in ((["nagare"], True), (FUNCTIONS, False)):
        selected = [word for package in packages for word in ("--package", package)]
        [sets] = [sets for crate, sets in features(*selected, "--edges", "normal").items() if crate.startswith("aws-config ")]
        if any("credentials-process" in one.split(",") for one in sets) != wanted:
            yield f"{packages} {'lack' if wanted else 'have'} aws-config's credentials-process"


def profiles():
    """What cargo-lambda, which looks for the profile in Cargo.toml alone, would build functions with in place of ours."""
    wanted = tomllib.loads((ROOT / ".cargo/config.toml").read_text())["profile"]["release"]
    found = tomllib.loads((ROOT / "Cargo.toml").read_text()).get("profile", {}).get("release", {})
    ours = {name: wanted.get(name, default) for name, default in {"lto": False, "codegen-units": 16, "panic": "unwind", "strip": "none"}.items()}
    if found != ours:
        yield f"Cargo.toml has the profile {found}, .cargo/config.toml {ours}"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    data = metadata()
    found = [*problems(data, rules), *unused(data), *unlisted(data), *compiled_twice(), *unpinned(), *upwards(), *across(), *model(), *from_root(), *folders(), *names(), *makers(), *measured(), *profiles()]
    for problem in found:
        print(problem)
    print(f"{len(data['packages'])} packages checked, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
