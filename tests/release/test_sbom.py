"""The bill of materials names each package of the lock file that ends up in a program, with its sum."""

import json
import tomllib

import pytest
import sbom


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    out = tmp_path_factory.mktemp("sbom") / "nagare.cdx.json"
    sbom.main(out)
    return json.loads(out.read_text(encoding="utf-8"))


def test_it_has_the_programs_and_what_they_are_made_of(document):
    components = {one["purl"]: one for one in document["components"]}
    assert len(components) == len(document["components"]) > 100
    applications = {one["name"] for one in components.values() if one["type"] == "application"}
    assert applications == set(sbom.programs())
    lock = tomllib.loads((sbom.ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {f"pkg:cargo/{p['name']}@{p['version']}": p.get("checksum") for p in lock["package"]}
    for purl, one in components.items():
        sums = [each["content"] for each in one.get("hashes", [])]
        assert sums == ([locked[purl]] if locked[purl] else []), purl
        assert one["licenses"][0]["expression"], purl
    names = {one["name"] for one in components.values()}
    assert {"aws-sdk-dynamodb", "rustls", "dynoxide-rs", "lambda_runtime"} <= names
    # Packages that only tests use.
    assert not names & {"proptest", "tests", "scale"}


def test_every_dependency_is_a_component(document):
    components = {one["bom-ref"] for one in document["components"]}
    assert {one["ref"] for one in document["dependencies"]} == components
    assert {ref for one in document["dependencies"] for ref in one["dependsOn"]} <= components
