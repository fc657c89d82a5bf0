# Sourced by the scripts that need tools from PyPI.

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "Python 3.11 or later is needed; PYTHON names another" >&2; exit 2; }

# Installs a requirements file into a virtual environment of its own, unless that was done before. Whatever
# has no hash there is refused, and nothing is looked for that is not there.
install() {
    local directory=$1 requirements=$2
    if ! cmp -s "$requirements" "$directory/installed.txt"; then
        echo "installing $(basename "$requirements")"
        "$python" -m venv --clear "$directory"
        "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$requirements"
        cp "$requirements" "$directory/installed.txt"
    fi
}
