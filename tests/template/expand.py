"""Expands template.yaml as CloudFormation's SAM transform does.

    python expand.py OUT.json [PARAMETER=VALUE ...]

Linters see little of a SAM template as it is written: the resources that the transform makes, and what
it adds to others, are not there. The transform reads parameters where it decides what to make (canary
deployment); everything else is left to CloudFormation, as the conditions are.
"""

import copy
import json
import logging
import os
import sys
from pathlib import Path

# The transform asks which region it runs in; what it makes is the same in all of them.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
# It would like to report feature flags and metrics of its own.
logging.getLogger("samtranslator").setLevel(logging.CRITICAL)

from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"


class NoManagedPolicies:
    """Stands in for the list of AWS's managed policies, which the transform would ask IAM for. Without
    it a policy given by name stays a name, and the checks refuse it anyway."""

    def load(self):
        return {}


def source():
    """The template as it is written, intrinsic functions in their long form and anchors resolved. What several parts
    share by an anchor is a copy in each, as in what SAM gives to CloudFormation."""
    return json.loads(json.dumps(yaml_parse(TEMPLATE.read_text(encoding="utf-8"))))


def expand(parameters=None, written=None):
    """The template, or another, as CloudFormation gets it."""
    template = copy.deepcopy(written) if written else source()
    # "sam package" puts the address of the built code here; the transform takes no local path.
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/key"
    return transform(template, dict(parameters or {}), NoManagedPolicies())


def main(out, *assignments):
    parameters = dict(assignment.split("=", 1) for assignment in assignments)
    # Nothing of the transform's goes out unless it is plain JSON: "Date" and the like would not be.
    Path(out).write_text(json.dumps(expand(parameters), indent=1), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
