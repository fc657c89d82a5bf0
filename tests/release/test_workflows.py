"""What the workflows may do, and with which tools: code of others never runs where something can be written."""

import copy
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
# Tools of GitHub's own runner that act on finished files.
TRUSTED_COMMANDS = ("gh release create ", "sha256sum ")
# The release of a tag is made once; these would change it.
REPLACING = ("--clobber", "gh release upload", "gh release edit", "gh release delete", "softprops/")


def jobs(workflows):
    for name, workflow in workflows.items():
        for job_name, job in workflow["jobs"].items():
            yield f"{name}: {job_name}", job, job.get("permissions", workflow.get("permissions"))


def check_permissions(workflows):
    for name, workflow in workflows.items():
        assert "permissions" in workflow, f"{name} leaves its permissions to the repository's settings"
        assert all(value in ("read", "none") for value in workflow["permissions"].values()), name
    for name, job, permissions in jobs(workflows):
        assert isinstance(permissions, dict), name
        if "write" not in permissions.values():
            continue
        for step in job["steps"]:
            action, command = step.get("uses", "actions/"), step.get("run", TRUSTED_COMMANDS[0])
            assert action.startswith("actions/") and not action.startswith("actions/checkout"), f"{name} may write and uses {action}"
            assert command.startswith(TRUSTED_COMMANDS) and "\n" not in command.strip(), f"{name} may write and runs {command}"
            assert not re.search(r"[;|&`]|\$\(", command), f"{name}: {command}"


def check_pins(workflows):
    wanted = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    for name, job, _ in jobs(workflows):
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), f"{name}: {step['uses']} is not a commit"
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
        text = " ".join(step.get("run", "") for step in job["steps"])
        if re.search(r"\bcargo\b|\.ci/run", text):
            toolchain = job.get("env", {}).get("RUSTUP_TOOLCHAIN", "")
            assert re.fullmatch(re.escape(wanted) + r"\.\d+", str(toolchain)), f"{name} builds with {toolchain or 'whatever there is'}"
            assert 'rustup toolchain install' in text, name
        for line in re.findall(r"pip install .*", text):
            assert "--require-hashes" in line, f"{name}: {line}"


def check_release(workflows):
    workflow = workflows["release.yml"]
    assert not [word for word in REPLACING if word in yaml.safe_dump(workflow)]
    writing = {name for name, _, permissions in jobs({"release.yml": workflow}) if "write" in permissions.values()}
    assert writing == {"release.yml: publish"}
    publish = workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"contents": "write", "id-token": "write", "attestations": "write"}
    steps = [step.get("run", step.get("uses", "")).split()[0].split("@")[0] for step in publish["steps"]]
    # Sums of all files first, then the statement about these sums, then the release with all of them.
    assert steps == ["actions/download-artifact", "sha256sum", "actions/attest-build-provenance", "gh"]
    assert publish["steps"][2]["with"] == {"subject-checksums": "dist/SHA256SUMS"}
    assert publish["steps"][3]["run"].endswith(" dist/*") and "--verify-tag" in publish["steps"][3]["run"]
    build = workflow["jobs"]["build"]
    uploaded = build["steps"][-1]["with"]["path"].split()
    assert uploaded == ["dist/*.whl", "dist/*.tar.gz", "dist/*.cdx.json"]
    assert any("tests/release/sbom.py" in step.get("run", "") for step in build["steps"])


CHECKS = [check_permissions, check_pins, check_release]


@pytest.mark.parametrize("check", CHECKS)
def test_it_holds(check):
    check(WORKFLOWS)


def job(name, *way):
    *path, key, value = way

    def change(workflows):
        inner = workflows[name]
        for step in path:
            inner = inner[step]
        inner[key] = value

    return change


BREAKS = {
    "a build that may write": (job("release.yml", "jobs", "build", "permissions", {"contents": "write"}), check_permissions),
    "a workflow that may write": (job("release.yml", "permissions", {"contents": "write"}), check_permissions),
    "permissions of the repository's settings": (lambda w: w["ci.yml"].pop("permissions"), check_permissions),
    "a compiler where releases are written": (
        job("release.yml", "jobs", "publish", "steps", 1, "run", "cargo xtask dist"),
        check_permissions,
    ),
    "a command after another": (
        job("release.yml", "jobs", "publish", "steps", 1, "run", "sha256sum -- * > SHA256SUMS; python3 x.py"),
        check_permissions,
    ),
    "an action of others": (
        job("release.yml", "jobs", "publish", "steps", 2, "uses", "someone/attest@" + "0" * 40),
        check_permissions,
    ),
    "an action by its tag": (job("release.yml", "jobs", "publish", "steps", 2, "uses", "actions/attest@v3"), check_pins),
    "any toolchain": (job("release.yml", "jobs", "build", "env", {}), check_pins),
    "another toolchain": (job("ci.yml", "jobs", "run", "env", {"RUSTUP_TOOLCHAIN": "stable"}), check_pins),
    "a token in the checkout": (job("ci.yml", "jobs", "run", "steps", 0, "with", {"persist-credentials": True}), check_pins),
    "packages without hashes": (job("release.yml", "jobs", "build", "steps", 2, "run", "pip install cargo-lambda"), check_pins),
    "files that are replaced": (
        job("release.yml", "jobs", "publish", "steps", 3, "run", "gh release upload v1 dist/* --clobber"),
        check_release,
    ),
    "no statement of where it was built": (lambda w: w["release.yml"]["jobs"]["publish"]["steps"].pop(2), check_release),
    "no sums": (lambda w: w["release.yml"]["jobs"]["publish"]["steps"].pop(1), check_release),
    "no bill of materials": (lambda w: w["release.yml"]["jobs"]["build"]["steps"].pop(-2), check_release),
}


@pytest.mark.parametrize("name", BREAKS)
def test_it_is_noticed(name):
    change, check = BREAKS[name]
    broken = copy.deepcopy(WORKFLOWS)
    change(broken)
    with pytest.raises(AssertionError):
        check(broken)
