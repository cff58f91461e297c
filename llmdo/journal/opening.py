"""The choice of a workspace's store: files below it, or a database."""

from __future__ import annotations

import os
import tomllib
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from llmdo.base.diagnostic import LlmdoError, excerpt, joined
from llmdo.base.nearest import nearest_workspace
from llmdo.extensions.registry import features
from llmdo.journal import SUFFIX, FileBatches, Runs, read_journal
from llmdo.journal.secrets import Known
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.journal.items import Batches
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.workers import FleetWorkers


class Store(Protocol):
    """A kind of store, as a module of an extension."""

    def require_library(self) -> None:
        """Checks that its library is installed; raises an `LlmdoError` if not."""

    def runs(self, root: Path, address: str) -> RunIndex:
        """The runs of a workspace."""

    def batches(self, root: Path, address: str) -> Batches:
        """Its batches."""

    def workers(self, address: str, *, is_renewing: bool) -> FleetWorkers:
        """The workers of the fleet that shares the store."""

    def declare_restored(self, address: str) -> tuple[int, int]:
        """The numbers of items and runs now unsure, as the store was put back."""

    def migrate(self, address: str) -> int:
        """Brings its tables up to date, and returns the number of steps."""


STORE = "LLMDO_STORE"
"""The variable with the address of a database. If empty, journals are files, whatever the manifest says."""


def _store(address: str) -> Store:
    """The kind of store that an address names.

    Raises:
        LlmdoError: It names none, or its library is missing. The address is not repeated: it may hold a password.
    """
    scheme, slashes, _ = address.partition("://")
    modules = {name: module for each in features() for name, module in each.stores.items()}
    if not slashes or scheme not in modules:
        raise LlmdoError(
            "the store that is named is not in a database that llmdo knows",
            hint=f"{joined([f'`{name}://`' for name in modules]) or 'no feature here'} names one; "
            "without one, journals are files of the workspace",
        )
    store = cast("Store", import_module(modules[scheme]))
    store.require_library()
    return store


def runs_of(root: Path, environ: Mapping[str, str] = os.environ) -> RunIndex:
    """The runs of the workspace at `root`.

    Raises:
        LlmdoError: The store is invalid, unreachable, or lacks the tables.
    """
    address = address_of(root, environ)
    if not address:
        return Runs(root)
    return _store(address).runs(root, address)


@contextmanager
def claimed(root: Path, run: str, environ: Mapping[str, str] = os.environ) -> Iterator[JournalStore]:
    """The journal of a run, by a reference as `find` takes it, claimed during the block.

    Raises:
        ClaimedError: Another process has it.
        LlmdoError: There is no such run, or it cannot be read.
    """
    runs = runs_of(root, environ)
    name = runs.find(run)
    with runs.claim(name), runs.open(name) as journal:
        journal.know(Known.of(environ))
        yield journal


def read_run(
    root: Path, run: str, environ: Mapping[str, str] = os.environ, *, whole: bool = False
) -> JournalStore:
    """The journal of a run of the workspace, or the exported run in that file, read-only.

    Raises:
        LlmdoError: None exists, or it cannot be read.
    """
    if run.endswith(SUFFIX):
        return read_journal(Path(run), whole=whole)
    runs = runs_of(root, environ)
    return runs.read(runs.find(run), whole=whole)


def address_of(root: Path, environ: Mapping[str, str]) -> str | None:
    """The address of the database with the workspace's journals; None if they are files.

    Raises:
        LlmdoError: `llmdo.toml` names a variable that is not set: journals in two places would be worse.
    """
    if STORE in environ:
        return environ[STORE]
    variable = _variable_of(root)
    if variable is None:
        return None
    if not (address := environ.get(variable)):
        raise LlmdoError(
            f"`[workspace] store` of llmdo.toml names the variable `{excerpt(variable)}`, which is not set",
            hint=f"set it to the address of the store; `{STORE}=` (empty) keeps journals in files",
        )
    return address


def address_here(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The address for the workspace around `folder`, or for no workspace."""
    above = nearest_workspace(str(folder))
    return address_of(Path(above) if above else folder, environ)


def _variable_of(root: Path) -> str | None:
    """The value of `[workspace] store` in the manifest, which `check` judges."""
    try:
        content = (root / MANIFEST).read_bytes()
        if b"store" not in content:  # most, which need no parser
            return None
        table = tomllib.loads(content.decode()).get("workspace")
    except (OSError, ValueError):  # whoever reads the workspace hears of it
        return None
    variable = table.get("store") if isinstance(table, dict) else None
    return variable if isinstance(variable, str) else None


def batches_of(root: Path, environ: Mapping[str, str] = os.environ) -> Batches:
    """The batches of the workspace at `root`.

    Raises:
        LlmdoError: As of `runs_of`.
    """
    address = address_of(root, environ)
    if not address:
        return FileBatches(root)
    return _store(address).batches(root, address)


def workers_of(address: str, *, is_renewing: bool = False) -> FleetWorkers:
    """The workers of the fleet with the store at `address`; `is_renewing` for one that beats.

    Raises:
        LlmdoError: It is invalid, unreachable, or lacks the tables.
    """
    return _store(address).workers(address, is_renewing=is_renewing)


def declare_restored(address: str) -> tuple[int, int]:
    """The numbers of items and runs of that store now unsure, as it was put back.

    Raises:
        LlmdoError: It is invalid, unreachable, or lacks the tables.
    """
    return _store(address).declare_restored(address)


def migrate(address: str | None) -> int:
    """Brings the tables of that store up to date, and returns the number of steps.

    Raises:
        LlmdoError: It is none, cannot be reached or does not allow it.
    """
    if not address:
        raise LlmdoError("no store is named", hint=f"`--store` or `{STORE}` does")
    return _store(address).migrate(address)


def require_store(address: str) -> None:
    """Checks that `address` names a database for journals, and that its library is installed.

    Raises:
        LlmdoError: Otherwise.
    """
    _store(address)
