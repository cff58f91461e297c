"""A PostgreSQL of Debian's package in a temporary folder, for tests of the store that lies in one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp

USER = "postgres"


@dataclass(frozen=True)
class Cluster:
    """A server that listens on this machine alone."""

    programs: Path
    data: Path
    port: int

    def _run(self, program: str, *words: str) -> None:
        as_user = ("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups") if os.getuid() == 0 else ()
        subprocess.run(
            [*as_user, self.programs / program, *words],
            check=True,
            cwd=self.data.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def make(self) -> None:
        self._run("initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        settings = (
            f"-p {self.port} -k {self.data.parent} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB "
            "-c autovacuum=off -c wal_writer_delay=10s"
        )
        self._run(
            "pg_ctl", "-D", str(self.data), "-w", "-l", f"{self.data.parent}/log", "-o", settings, "start"
        )

    def stop(self) -> None:
        """At once, as though the machine had failed."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")

    def address(self, database: str = USER) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self, like: str = "template1") -> str:
        """The address of a database that is empty, or a copy of the one `like` which nobody is connected to."""
        import psycopg

        name = f"t{token_hex(6)}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            template = like.rpartition("/")[2]
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self.address(name)


def lacking() -> str:
    """What there is not here that a server needs; empty where all is there."""
    if not _programs():
        return "there is no PostgreSQL here: `apt-get install postgresql` brings it"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "there is no `psycopg` here: the extra `fleet` brings it"
    return ""


def _programs() -> Path | None:
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    if on_path := shutil.which("pg_ctl"):
        places.append(Path(on_path).resolve().parent)
    return next((place for place in places if (place / "initdb").exists()), None)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server while the block runs."""
    programs = _programs()
    assert programs is not None
    folder = Path(mkdtemp(prefix="llmdo-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, USER, USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Cluster(programs, folder / "data", port)
    try:
        server.make()
        try:
            server.start()
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # where it has ended by itself
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
