"""Whether the packages of `cargo xtask dist` are what `sam build` makes: the same template, and the same programs.

    python packaged.py target/dist-functions .aws-sam/build
"""

import sys
import zipfile
from pathlib import Path

from samcli.yamlhelper import yaml_parse


def template_of(folder):
    """The template, and by function the folder or package of its program. How SAM built it is left out."""
    template = yaml_parse((folder / "template.yaml").read_text(encoding="utf-8"))
    template["Globals"]["Function"].pop("CodeUri", None)
    programs = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            resource.pop("Metadata", None)
            programs[name] = folder / resource["Properties"].pop("CodeUri")
    # SAM notes for every resource which one it was.
    for name, resource in template["Resources"].items():
        metadata = resource.get("Metadata", {})
        metadata.pop("SamResourceId", None)
        if not metadata:
            resource.pop("Metadata", None)
    return template, programs


def main(packaged, built):
    (template, packages), (expected, folders) = template_of(packaged), template_of(built)
    assert template == expected, "the templates differ"
    assert packages.keys() == folders.keys() and len(packages) >= 6, packages.keys() ^ folders.keys()
    for name, package in packages.items():
        with zipfile.ZipFile(package) as archive:
            assert archive.namelist() == ["bootstrap"], (name, archive.namelist())
            assert archive.read("bootstrap") == (folders[name] / "bootstrap").read_bytes(), f"{name}: the programs differ"
            assert archive.getinfo("bootstrap").external_attr >> 16 & 0o111, f"{name}: it cannot be started"
    print(f"{len(packages)} packages are what sam build made")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
