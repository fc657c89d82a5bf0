#!/usr/bin/env bash
# Checks template.yaml, as it is written and as CloudFormation gets it. Needs Python 3.11 or later and
# pip, no AWS account, and once they are installed no network.
#
#   tests/template/run.sh [lint | code]
#
# `lint` looks at the template alone. `code` compares it with the code, and with what the functions were seen to call:
# the tests of the functions write that down (cargo test --locked -p tests --test functions --test model). Without an
# argument it is both.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/target/template-venv
what=${1:-lint code}
. "$here/../venv.sh"

# They cannot share one: see requirements.in.
mkdir -p "$venv"
install "$venv/sam" "$here/requirements.txt"
[[ $what != *lint* ]] || install "$venv/checkov" "$here/requirements-checkov.txt"

# Nothing is reported to anybody, nothing asks for credentials, nothing is left in the home directory.
export SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR="$venv/sam-cli"
export AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
export PYTHONDONTWRITEBYTECODE=1
bin=$venv/sam/bin
expanded=$venv/expanded
mkdir -p "$expanded"

failed=()
check() {
    local name=$1 output=$venv/output.txt
    shift
    if "$@" >"$output" 2>&1; then
        echo "ok      $name$(sed -n 's/^\([0-9]* passed\).*/: \1/p; s/^Passed checks: \([0-9]*\),.*/: \1 passed/p' "$output")"
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$output"
        failed+=("$name")
    fi
}

# checkov is content with a file that it cannot read.
checkov() {
    "$venv/checkov/bin/checkov" --config-file "$here/checkov.yaml" --file "$1" | tee "$venv/checkov.txt"
    grep -q '^Passed checks: [1-9]' "$venv/checkov.txt"
}

# .cfnlintrc is read from here.
cd "$root"
if [[ $what == *lint* ]]; then
    check "sam validate" "$bin/sam" validate --template "$root/template.yaml"
    check "sam validate --lint" "$bin/sam" validate --lint --template "$root/template.yaml"
    # With canary deployment the transform makes more of it.
    check "expand" "$bin/python" "$here/expand.py" "$expanded/plain.json"
    check "expand, canary" "$bin/python" "$here/expand.py" "$expanded/canary.json" CanaryDeployment=true
    check "limits of AWS" "$bin/python" -m pytest -q -p no:cacheprovider "$here/limits.py"
    for kind in plain canary; do
        check "cfn-lint, $kind" "$bin/cfn-lint" --config-file "$here/cfn-lint.yaml" --template "$expanded/$kind.json"
        check "checkov, $kind" checkov "$expanded/$kind.json"
    done
fi
if [[ $what == *code* ]]; then
    check "checks" "$bin/python" -m pytest -q -p no:cacheprovider "$here/check.py"
    check "breaks" "$bin/python" -m pytest -q -p no:cacheprovider "$here/breaks.py"
    check "alarms" "$bin/python" -m pytest -q -p no:cacheprovider "$here/alarming.py"
fi

if ((${#failed[@]})); then
    echo "template: ${#failed[@]} failed" >&2
    exit 1
fi
echo "template: all is well"
