"""The capabilities that one call raises: those of its tool's lines, narrowed to the paths, host or command named."""

from __future__ import annotations

import os

from llmdo.features.hook.events import ANY_SERVER
from llmdo.policy.authority import Capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.features.hook.events import Access
    from llmdo.features.hook.packed import Tables


class UnknownToolError(Exception):
    """A tool, a server or an agent that the project does not have as llmdo read it; the text is a sentence."""


UNLISTED = "proc.exec.unlisted"
EXEC = "proc.exec"
LISTED = Capability(EXEC)
READ_LIKE = {"sed": "cat"}
"""The programs whose rules vouch for what another one only reads."""


class CallPaths:
    """The paths of one call, as scopes below the root of a project."""

    def __init__(self, root: str, folder: str) -> None:
        self.root = os.path.realpath(root)
        self.folder = folder

    def scope(self, path: str, *, is_folder: bool = False) -> str | None:
        """The scope of a path, with links followed; None if it is not in the project."""
        joined = os.path.join(self.folder, os.path.expanduser(path))  # noqa: PTH111, PTH118
        real = os.path.realpath(joined)
        if real == self.root:
            return "**"
        if not real.startswith(f"{self.root}/"):
            return "**" if is_folder and f"{self.root}/".startswith(f"{real.rstrip('/')}/") else None
        inside = real[len(self.root) + 1 :]
        return f"{inside}/**" if is_folder or os.path.isdir(real) else inside  # noqa: PTH112

    def of_word(self, word: str) -> str | None:
        """The scope of a word of a command; None if it is not plainly in the project."""
        from llmdo.policy.shell.rules import scope_in_text

        # Of an absolute path, and one that leads up, the disk says whether it is in the project.
        inner = "/".join(part for part in word.split("/") if part != "..").lstrip("/").replace("\t", " ")
        if scope_in_text(inner or ".") is None or self.scope(word) is None:
            return None
        return self.scope(word, is_folder=True)


def servers_of(access: Access, worker: str, tables: Tables) -> list[str]:
    """The servers that a called tool may be of: where its name begins nobody can tell, as either may have a joint."""
    if access.server == ANY_SERVER:
        return [*tables.servers[worker]]
    parts = access.server.split(access.joint) if access.server else []
    return [access.joint.join(parts[:end]) for end in range(1, len(parts) + 1) if parts[:end] != ["mcp"]]


def raised_by(
    access: Access, tool: str, worker: str, tables: Tables, places: CallPaths
) -> frozenset[Capability]:
    """The capabilities of a call of a tool by an agent. Code of the project may be called like a tool of the client.

    Raises:
        UnknownToolError: The tool is in no table.
    """
    code = frozenset(map(Capability.parse, tables.code[worker].get(tool, ())))
    if code and access.server is not None:
        return code
    return code | _raised_by_line(access, worker, tables, places)


def _raised_by_line(access: Access, worker: str, tables: Tables, places: CallPaths) -> frozenset[Capability]:
    """The capabilities of a call of a server's tool, or of one of the client's own."""
    if access.server is not None:
        servers = tables.servers[worker]
        is_any = access.server == ANY_SERVER
        own = [
            each
            for name, raised in servers.items()
            if is_any or access.server == name or access.server.startswith(f"{name}{access.joint}")
            for each in raised
        ]
        if not own and not is_any:
            raise UnknownToolError(
                f"the server of `{access.server}` is not one that the project declares for this agent"
            )
        return frozenset(map(Capability.parse, own))
    for line in (*access.lines, *access.reading, *access.listed):
        if line not in tables.lines:
            raise UnknownToolError(f"the tool `{line}` is not one that llmdo knows")
    lines = [Capability.parse(each) for line in access.lines for each in tables.lines[line]]
    lines += [
        Capability.parse(each) for tool in access.freely for each in tables.freely[worker].get(tool, ())
    ]
    if access.command is not None:
        return frozenset(_of_command(access.command, access, lines, worker, tables, places))
    scopes = [places.scope(path) for path in access.files]
    scopes += [places.scope(path, is_folder=True) for path in access.folders]
    raised = [each for each in lines if not each.name.startswith("fs.") and each.name != "net.connect"]
    if any(each.name == "net.connect" for each in lines):
        raised.append(Capability("net.connect", _host(access.host)))
    names = [each.name for each in lines if each.name.startswith("fs.")]
    raised += _on_files(names, scopes or [None], tables)
    if "fs.read" in names and access.names is not None:
        folders = [places.scope(folder, is_folder=True) for folder in access.folders]
        raised += _searched(folders, access.names, places, heeds_ignores=access.heeds_ignores)
    return frozenset(raised)


def _searched(
    scopes: Sequence[str | None], names: Sequence[str], places: CallPaths, *, heeds_ignores: bool
) -> Iterator[Capability]:
    """The scopes of folders with protected files, of those in which a call looks into files of these names."""
    if not scopes:
        return
    from llmdo.features.hook.searching import holds_secrets
    from llmdo.policy.protection import PROTECTED_READ

    for scope in scopes:
        inside = scope and scope.removesuffix("**").rstrip("/")
        if inside is not None and holds_secrets(places.root, inside, names, heeds_ignores=heeds_ignores):
            yield Capability(PROTECTED_READ, scope)


def _on_files(names: Iterable[str], scopes: Iterable[str | None], tables: Tables) -> Iterator[Capability]:
    """The capabilities of reads and changes in scopes; None is an unknown one."""
    from llmdo.policy.protection import (
        CODE_WRITE,
        PROTECTED_READ,
        PROTECTED_WRITE,
        holds_protected,
        is_code,
        is_secret,
    )

    for scope in scopes:
        is_file = scope is not None and not scope.endswith("**")
        for name in names:
            if name == PROTECTED_WRITE:
                continue  # that is in the path
            yield Capability(name, scope)
            if name == "fs.read" and scope is not None and is_file and is_secret(scope):
                yield Capability(PROTECTED_READ, scope)
            elif name in ("fs.write", "fs.delete") and (
                scope is None or holds_protected(scope, tables.governing)
            ):
                yield Capability(PROTECTED_WRITE, scope)
            elif (
                name in ("fs.write", "fs.delete")
                and tables.tells_code
                and (not is_file or is_code(scope or ""))
            ):
                yield Capability(CODE_WRITE, scope)


def _of_command(
    command: str, access: Access, lines: Iterable[Capability], worker: str, tables: Tables, places: CallPaths
) -> Iterator[Capability]:
    first = command.split(maxsplit=1)[:1]
    known: tuple[str, ...] = ()
    if access.reading and first:
        known = tables.reading.get(READ_LIKE.get(first[0], first[0]), ())
    if not known and not any(start[:1] == tuple(first) for start in tables.listed[worker]):
        yield from lines  # however it is split into words
        return
    from llmdo.policy.shell.programs import may_name_program
    from llmdo.policy.shell.words import CommandRefused, program_of, words

    parts: Sequence[str] = ()
    try:
        parts = words(command)
        program_of(tuple(parts))
    except CommandRefused:
        yield from lines
        return
    reads = None
    if known:
        from llmdo.features.hook.reading import looked_for, reads_of

        reads = reads_of(parts, known, places.of_word)
    if reads is not None:
        yield from reads
        if (looked := looked_for(parts)) is not None:
            read = [each.scope or "**" for each in reads if each.name == "fs.read"]
            scopes = [each for each in read if os.path.isdir(f"{places.root}/{each.removesuffix('**')}")]  # noqa: PTH112
            yield from _searched(scopes, looked[0], places, heeds_ignores=looked[1])
        names = {each for line in access.reading for each in tables.lines[line]}
        yield from (Capability(name) for name in names if name != "fs.read")
        return
    is_listed = any(tuple(parts[: len(start)]) == start for start in tables.listed[worker])
    is_listed = is_listed and not may_name_program(parts)
    if is_listed and access.listed:
        yield from (Capability.parse(each) for line in access.listed for each in tables.lines[line])
        return
    for each in lines:
        yield LISTED if is_listed and each.name == UNLISTED else each


def _host(address: str | None) -> str | None:
    """The host of an address; None if there is none to be sure of."""
    if address is None:
        return None
    scheme, slashes, rest = address.partition("://")
    host = rest.partition("/")[0]
    if not slashes or scheme.lower() not in ("http", "https") or not host.isascii():
        return None
    name = host.partition(":")[0].lower()
    return name if name.replace("-", "").replace(".", "").isalnum() else None
