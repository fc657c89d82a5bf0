"""A PostgreSQL of one's own, in a temporary directory, reached over a socket there."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg

# Enough to hold everything in memory, and what is usual on disks without heads. Without `jit`, which
# costs queries of this size more than it saves, and without parallel queries, so that all of the work
# is in one process, where it can be measured.
SETTINGS = {
    "shared_buffers": "1GB",
    "work_mem": "64MB",
    "random_page_cost": "1.1",
    "effective_cache_size": "4GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "listen_addresses": "",
    "fsync": "off",
}


def programs():
    """The folder of `initdb` and `postgres`."""
    candidates = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    named = os.environ.get("POSTGRES_BIN")
    found = shutil.which("initdb")
    candidates = [Path(named)] if named else [*candidates, *([Path(found).parent] if found else [])]
    for candidate in candidates:
        if (candidate / "initdb").exists():
            return candidate
    sys.exit("no PostgreSQL here: install it (Debian: postgresql), or name the folder of initdb in POSTGRES_BIN")


def somebody():
    """PostgreSQL refuses to run as root: as whom it runs instead, if that is needed."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in known else "nobody"
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


@contextmanager
def cluster():
    """A connection to a new cluster, which is gone when the block ends."""
    directory = Path(tempfile.mkdtemp(prefix="nagare-postgres-"))
    other = somebody()
    if other:
        shutil.chown(directory, other["user"], other["group"])
    data, binaries = directory / "data", programs()
    server = None
    try:
        subprocess.run([binaries / "initdb", "-D", data, "-U", "bench", "--auth=trust", "-E", "UTF8", "--locale=C"],
                       check=True, stdout=subprocess.DEVNULL, cwd="/", **other)
        settings = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        with open(directory / "log", "wb") as log:
            server = subprocess.Popen([binaries / "postgres", "-D", data, "-k", directory, *settings],
                                      stdout=log, stderr=log, cwd="/", **other)
        with connect(directory, server) as connection:
            yield connection
    finally:
        if server:
            server.terminate()
            server.wait()
        shutil.rmtree(directory, ignore_errors=True)


def cpu_seconds(connection):
    """What the process behind a connection has spent."""
    return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9


def connect(directory, server):
    """Connects as soon as the server is there."""
    while server.poll() is None:
        try:
            return psycopg.connect(host=str(directory), user="bench", dbname="postgres", autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.05)
    sys.exit((directory / "log").read_text())
