# Sourced by the scripts that need tools from PyPI.

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "Python 3.11 or later is needed; PYTHON names another" >&2; exit 2; }
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Installs a requirements file into a virtual environment of its own, unless that was done before. Whatever
# has no hash there is refused, and nothing is looked for that is not there. It is uv that installs, in a
# fraction of pip's time, and pip that installs uv. Whoever asks for the same meanwhile waits.
install() {
    local directory=$1 requirements=$2
    mkdir -p "$(dirname "$directory")"
    (
        flock 8
        if ! cmp -s "$requirements" "$directory/installed.txt"; then
            echo "installing $(basename "$requirements")"
            uv venv --quiet --clear --python "$python" "$directory"
            uv pip install --quiet --python "$directory/bin/python" --no-deps --require-hashes --compile-bytecode -r "$requirements"
            cp "$requirements" "$directory/installed.txt"
        fi
    ) 8>"$directory.lock"
}

# The one of tests/dependencies/requirements.txt. Scripts that run beside each other wait for the first.
uv() {
    local directory=$tests/../target/uv-venv wanted=$tests/dependencies/requirements.txt
    mkdir -p "$directory"
    (
        flock 9
        if ! cmp -s "$wanted" "$directory/installed.txt"; then
            "$python" -m venv --clear "$directory/venv"
            "$directory/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$wanted"
            cp "$wanted" "$directory/installed.txt"
        fi
    ) 9>"$directory/lock"
    # uv uses the index and the timeout that pip is configured with. Where none is configured pip fails with a
    # message, which is not wanted, and the default of uv holds.
    UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}} \
        UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-${PIP_DEFAULT_TIMEOUT:-180}} "$directory/venv/bin/uv" "$@"
}
