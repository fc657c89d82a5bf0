# Short names for what contributors do. Each is a command that can be typed without `just`.

# The verbs
default:
    @just --list

# Run the local stack with its sample
run:
    cargo run --locked

# Compile everything, without running it
check:
    cargo check --workspace --all-targets --locked

# Format all code
fmt:
    cargo fmt --all

# Look for what the compiler does not mind
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Run the tests (README's command); `just test projection` those whose names contain this
test *names:
    cargo test --workspace --locked {{names}}

# Run end-to-end tests with the debug build: `just e2e test_commands.py`
e2e *files:
    cargo build --locked
    test -d target/venv || python3 -m venv target/venv
    target/venv/bin/pip install --quiet --require-hashes --no-deps -r tests/e2e/requirements.txt
    cd tests/e2e && NAGARE_BIN={{justfile_directory()}}/target/debug/nagare {{justfile_directory()}}/target/venv/bin/python -m pytest {{files}}

# Drive the console and the example app in a browser (needs the release build)
console *args:
    bash tests/console/run.sh {{args}}

# Build and open the documentation of the code
docs:
    cargo doc --workspace --no-deps --locked --open

# Make again what follows from the JSON Schema of commands
schema:
    python3 tests/clients/producers.py --write

# Everything that CI runs, from nothing
ci:
    .ci/run
