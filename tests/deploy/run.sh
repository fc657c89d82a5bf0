#!/usr/bin/env bash
# Builds and deploys the project as README.md says ("On AWS"), with the real SAM CLI and template.yaml as it
# is but for what the emulator does not know (for_the_emulator.py), and tries what was deployed. AWS is an emulator on this machine; there is no account and no Docker.
# Needs Rust, Python 3.11 or later, pip, and target/release/nagare.
#
#   tests/deploy/run.sh [DIRECTORY]
#
# DIRECTORY is where the tools are installed, target/deploy-venv if it is not given; the SAM CLI is taken from
# target/template-venv, where tests/template/run.sh has it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${1:-$root/target/deploy-venv}
sam=$root/target/template-venv/sam
work=$root/target/deploy
. "$here/../venv.sh"

[[ -x ${NAGARE_BIN:-$root/target/release/nagare} ]] ||
    { echo "nagare is not built: cargo build --release --bins --locked" >&2; exit 2; }

mkdir -p "$venv"
install "$sam" "$here/../template/requirements.txt"
install "$venv/build" "$here/requirements-build.txt"
install "$venv/emulator" "$here/requirements-emulator.txt"

# Nothing is left behind: not the emulator, not the functions that it runs, not what they wrote.
emulator=
clean_up() {
    if [[ -n $emulator ]]; then
        # It leads a process group of its own, in which the functions are too.
        kill -TERM -- "-$emulator" 2>/dev/null || true
        timeout 10 tail --pid="$emulator" -f /dev/null || true
        kill -KILL -- "-$emulator" 2>/dev/null || true
    fi
    rm -rf "$work/state"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Nothing of the caller's account, and nothing in the home directory.
for name in $(compgen -e | grep -E '^(AWS|NAGARE)_' | grep -vx NAGARE_BIN); do unset "$name"; done
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
export NO_PROXY=localhost,127.0.0.1 no_proxy=localhost,127.0.0.1
export SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR="$sam/sam-cli" PYTHONDONTWRITEBYTECODE=1
# In this order: cargo-lambda runs zig by the first Python that it finds.
export PATH="$venv/build/bin:$sam/bin:$PATH"

cd "$root"
sam build
# What is deployed without Rust is what was built here.
# `--workspace`: alone, what it needs would be compiled in another way than for the tests.
cargo build --quiet --workspace --bin xtask --locked
target/debug/xtask dist --parts functions --out target/dist-functions
"$sam/bin/python" "$here/packaged.py" target/dist-functions .aws-sam/build
"$sam/bin/python" "$here/for_the_emulator.py" .aws-sam/build/template.yaml

rm -rf "$work"
mkdir -p "$work/state"
"$venv/emulator/bin/python" "$here/certificate.py" "$work/state/certificate.pem" "$work/state/key.pem"
port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AWS_ENDPOINT_URL=https://localhost:$port
# The second is what the functions and the command line look at.
export AWS_CA_BUNDLE=$work/state/certificate.pem SSL_CERT_FILE=$work/state/certificate.pem

# AUTH: what the roles of the functions do not allow is refused, as on AWS.
env AUTH=true USE_SSL=1 MINISTACK_SSL_CERT="$work/state/certificate.pem" MINISTACK_SSL_KEY="$work/state/key.pem" \
    BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" LAMBDA_EXECUTOR=local DOCKER_HOST="unix://$work/none" IOT_MTLS_ENABLED=0 \
    TMPDIR="$work/state" STATE_DIR="$work/state/state" S3_DATA_DIR="$work/state/s3" \
    setsid "$venv/emulator/bin/python" -m ministack >"$work/emulator.log" 2>&1 &
emulator=$! started=$SECONDS
healthy='import os, urllib.request; urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/_ministack/health", timeout=5)'
until "$sam/bin/python" -c "$healthy" 2>/dev/null; do
    kill -0 "$emulator" 2>/dev/null && ((SECONDS < started + 90)) ||
        { cat "$work/emulator.log" >&2; echo "the emulator does not answer" >&2; exit 1; }
    sleep 0.2
done

sam deploy --config-env dev --no-progressbar >"$work/deploy.log" 2>&1 || { cat "$work/deploy.log" >&2; exit 1; }
"$sam/bin/python" -m pytest -q -p no:cacheprovider --durations=5 \
    "$here"/test_{deployed,deployed_events,tokens,deployed_tenants,deployed_history_off}.py ||
    { echo "what the emulator said is in $work/emulator.log" >&2; exit 1; }
