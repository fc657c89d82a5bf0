"""Writes the software bill of materials of a release: the packages that are in `nagare` and in the functions.

    python sbom.py OUT.cdx.json

CycloneDX 1.6 in JSON. Versions come from `cargo metadata` for the machine's own processor, SHA-256 sums from Cargo.lock.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def metadata():
    host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, capture_output=True, text=True).stdout.strip()
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def programs():
    """The packages whose programs are released."""
    functions = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["metadata"]["lambda"]["build"]["packages"]
    return ["nagare", *functions]


def bill(data, lock):
    """The document: each package that a program links or that builds one, and its direct dependencies."""
    packages = {package["id"]: package for package in data["packages"]}
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    edges = {
        node["id"]: [d["pkg"] for d in node["deps"] if {kind["kind"] for kind in d["dep_kinds"]} & {None, "build"}]
        for node in data["resolve"]["nodes"]
    }
    todo = [i for i, package in packages.items() if package["source"] is None and package["name"] in programs()]
    found = set()
    while todo:
        if (one := todo.pop()) not in found:
            found.add(one)
            todo += edges[one]

    def reference(package_id):
        package = packages[package_id]
        return f"pkg:cargo/{package['name']}@{package['version']}"

    def component(package_id):
        package = packages[package_id]
        described = {
            "type": "application" if package["source"] is None and package["name"] in programs() else "library",
            "bom-ref": reference(package_id),
            "name": package["name"],
            "version": package["version"],
            "purl": reference(package_id),
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        }
        if checksum := sums.get((package["name"], package["version"])):
            described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return described

    ordered = sorted(found, key=reference)
    [version] = {packages[i]["version"] for i in ordered if packages[i]["name"] == "nagare"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "nagare-release", "name": "nagare-release", "version": version}},
        "components": [component(i) for i in ordered],
        "dependencies": [{"ref": reference(i), "dependsOn": sorted({reference(d) for d in edges[i] if d in found})} for i in ordered],
    }


def main(out):
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    Path(out).write_text(json.dumps(bill(metadata(), lock), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
