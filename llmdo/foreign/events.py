"""Programs that a client runs at an event, and hosts that it connects to, whatever the model chooses.

A command that is fixed is `proc.exec`, with the hosts that its text names; what it prints may go into the conversation.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.credentials import secrets_in
from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass, replace
from llmdo.foreign import programs, scripts
from llmdo.foreign.files import line_out
from llmdo.foreign.hook_scripts import absolute_paths, refuses
from llmdo.foreign.lines import RUNS_OWN
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from llmdo.base.source import Location
    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Route

MANY = 100  # words of one command: nobody names more scripts in it
MAX_SHOWN = 160  # characters of a command in a path
MAX_COMMAND = 20_000  # characters: more is no command that somebody wrote into a file of settings

COMMANDS = ("command", "bash", "powershell", "linux", "osx", "windows", "commandWindows", "command_windows")
"""The keys of a hook under which clients have its command, for any system or for one."""

UNTRUSTED = Capability("data.untrusted")
CONNECTS = "net.connect"
RUNS = tuple(map(Capability, RUNS_OWN))

_VARIABLE = re.compile(
    r"\$\{?(?:[A-Z]+_(?P<which>PROJECT_DIR|SOURCE_TREE_PATH|WORKTREE_PATH|PLUGIN_ROOT)|extensionPath)\}?/?"
)
_OF_PROJECT = ("PROJECT_DIR", "SOURCE_TREE_PATH", "WORKTREE_PATH")
"""The ends of the variables that hold the project's folder."""
_TOP = re.compile(r"\$\(git rev-parse --show-toplevel\)/?")
_WORD = re.compile(r"[^\s\"'`;|&<>()]+")
_SCRIPT = re.compile(r".*\.(?:bash|cjs|js|mjs|ps1|py|rb|sh|ts|zsh)")
HARMLESS = frozenset(
    {
        "[", "[[", ":", "afplay", "awk", "basename", "cat", "cd", "cut", "date", "dirname", "do", "done",
        "echo", "elif", "else", "esac", "exit", "export", "false", "fi", "for", "git", "grep", "head", "hostname", "if",
        "jq", "local", "ls", "mkdir", "notify-send", "osascript", "printf", "pwd", "read", "say", "sed", "set", "shift",
        "sleep", "sort", "tail", "tee", "test", "then", "touch", "tr", "true", "uname", "uniq", "unset", "wc", "while",
        "whoami",
    }
)  # fmt: skip
"""Programs that answer nothing of their own."""
_ALLOWS = re.compile(r"""\\?["'](?:allow|approve)\\?["']|(?:permissionDecision|behavior)\W{1,8}allow""")
"""The answer of a hook in place of a person, in its command or its script."""
_STEP = re.compile(r"[;|&\n]+|\$\(")
_TEST = re.compile(r"\[\[\s[^\[\]]{0,1000}(?:\[[^\[\]]{0,100}\][^\[\]]{0,1000})?\s\]\]")
"""A condition of the shell, which prints nothing, whatever it runs."""
_LOCAL = HARMLESS | {
    "add-content", "find", "get-content", "get-date", "write-host", "write-output",
}  # fmt: skip
"""Programs that print what is in the project, or about the machine."""
_FETCHES = re.compile(
    r"\b(?:axios|curl|fetch|gh|httpx|npx|requests|socket|urllib|urlopen|uvx|wget)\b", re.IGNORECASE
)
"""Words of an inline script that may connect somewhere."""
OWN_HOOK = re.compile(r"llmdo hook [a-z]+(?: --locked)? \|\| \{ echo '[^'$`\\]*' >&2; exit 2; \}")
"""The command by which a client asks llmdo about a call: it denies or asks, and brings no words."""
OWN_PLUGINS = frozenset({"sha256:76b039d153567a6e3b34cbb93a937af64518e7f17d9e6ab8492eafa529fa383f"})
"""The digest of the plugin by which opencode asks llmdo, without its command."""
_OWN_COMMAND = re.compile(r'^const command = (?P<text>"[^\n]*")$', re.MULTILINE)
_INLINE = frozenset({"-c", "-e"})
"""Options of interpreters whose value is the script itself."""
_OUTSIDE = ("/", "~", "..")


MODELS_ADDRESSES = frozenset(
    {
        "ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
        "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
        "OPENAI_API_BASE", "OPENAI_BASE_URL",
    }
)  # fmt: skip
"""The variables by which clients find the address of their model."""


def models_addresses(variables: Iterable[tuple[str, str, Place]]) -> Iterator[Grant]:
    """The hosts to which the variables of an unattended run send all of the conversation."""
    for name, address, at in variables:
        if name in MODELS_ADDRESSES and address.strip():
            host = scripts.host_of(address)
            yield _grant(f"env {name}", host or address, at, _connecting([host]))


def started(name: str, server: Server, at: Place) -> Grant:
    """The start of a server of which no tool is left: its client filters tools only once they are listed."""
    command = shlex.join((server.command or "", *server.args)) if server.command else ""
    raised = RUNS if command else _connecting([scripts.host_of(server.url or "")])
    return _grant(f"start of {name}", command or server.url or name, at, raised)


@dataclass(frozen=True, slots=True)
class Hook:
    """One command of a table of hooks, or one address that it calls."""

    event: str
    matcher: str
    command: str
    at: Place
    is_address: bool = False
    called: str = ""
    """Its own name, by which some clients switch it off."""
    is_grouped: bool = False
    """Whether it stands in the `hooks` of a group, whose matcher is a text if it has one."""

    @property
    def name(self) -> str:
        """The name of its toolset in paths."""
        return f"hook {excerpt(self.event, MAX_SHOWN)}"


def hooks_in(place: Place) -> Iterator[Hook]:
    """The hooks in the table at a place: by event a list of handlers, or of groups of them with a matcher."""
    for event, groups in table(place.data).items():
        for number, group in enumerate(items(groups)):
            route: Route = (*place.route, event, number)
            nested = table(group).get("hooks")
            handlers = enumerate(items(nested)) if isinstance(nested, list) else ((None, group),)
            is_grouped = isinstance(nested, list) and isinstance(table(group).get("matcher", ""), str)
            for index, handler in handlers:
                within = route if index is None else (*route, "hooks", index)
                matcher, called = text(table(group).get("matcher")), text(table(handler).get("name"))
                for command, key, is_address in _commands(table(handler)):
                    at = Place(place.document, (*within, key))
                    yield Hook(event, matcher, command, at, is_address, called, is_grouped)


def note_unheeded(
    files: Files, tables: Iterable[Place], switch: Place | None, off: Mapping[str, Place] | None = None
) -> None:
    """Notes that the hook of llmdo in one of these tables does not run: hooks are switched off, or this one is.

    `off` are the places that switch off hooks by a name or a command.
    """
    for hook in (hook for place in tables for hook in hooks_in(place)):
        named = [at for name, at in (off or {}).items() if name and name in (hook.called, hook.command)]
        at = switch or next(iter(named), None)
        if at and OWN_HOOK.fullmatch(hook.command):
            message = (
                f"{files.product} does not ask llmdo, because hooks are switched off here: nothing of "
                "the rules of this workspace is enforced"
            )
            files.note("LDO554", at, message, line_out(at))
            return


def _commands(handler: Mapping[str, object]) -> Iterator[tuple[str, str, bool]]:
    """The commands of a handler, each with its key: of several systems, each counts."""
    if handler.get("type") == "http":
        yield text(handler.get("url")), "url", True
        return
    for key in COMMANDS:
        value = handler.get(key)
        words = [value] if isinstance(value, str) else [*texts(value)]
        if words and words[0]:
            yield " ".join([*words, *texts(handler.get("args"))]), key, False


@dataclass(frozen=True, slots=True)
class ClientEvents:
    """The grants for what one client runs by itself."""

    files: Files
    root: str = ""
    """The folder of the plugin that commands are of; empty for the project."""
    refuses_by_two: bool = False
    """Whether only 2 as the end of a hook, or a decision in its answer, is a refusal."""
    starts_there: bool = False
    """Whether paths in commands begin at that folder, not at the project's."""

    def hooks(
        self,
        tables: Iterable[Place],
        *,
        reads: Collection[str],
        off: Collection[str] = (),
        known: Collection[str] | None = None,
        never: Callable[[str, str], bool] = lambda _event, _matcher: False,
        are_grouped: bool = False,
    ) -> Iterator[Grant]:
        """Those of tables of hooks; what hooks of the events `reads` print goes into the conversation.

        `off` are the names and the commands of hooks that are switched off. `known` are the events that the client has,
        where it runs nothing at others. `never` says of an event and a matcher that no call fits them.
        `are_grouped`: it runs nothing that stands in no group of handlers.
        """
        for place in tables:
            for hook in hooks_in(place):
                if hook.called in off or hook.command in off or OWN_HOOK.fullmatch(hook.command):
                    continue
                is_known = known is None or hook.event in known
                is_run = hook.is_grouped or not are_grouped
                if not is_known or not is_run or never(hook.event, hook.matcher):
                    continue
                is_read = hook.event in reads
                if hook.is_address:
                    yield _grant(
                        hook.name, hook.command, hook.at, self._called(hook.command, is_read=is_read)
                    )
                else:
                    yield self.command(
                        hook.name, hook.command, hook.at, is_read=is_read, matcher=hook.matcher
                    )

    def command(
        self, name: str, command: str, at: Place, *, is_read: bool = False, matcher: str = ""
    ) -> Grant:
        """A command that is run at the event `name`; `is_read` if what it prints goes into the conversation."""
        command = command[:MAX_COMMAND]
        own = dict(project_scripts(self.files, command, self.root, starts_there=self.starts_there))
        perhaps = {
            path: (spelled, script) for spelled, path, script in scripts_elsewhere(self.files, command)
        }
        every = {**own, **{path: script for path, (_, script) in perhaps.items()}}
        shells = [command, *(script for path, script in every.items() if path.endswith(programs.OF_A_SHELL))]
        hosts = {host for script in shells for host in scripts.hosts(script)}
        if any(map(scripts.runs_downloads, shells)):
            self._note_download(name, command, at.location)
        raised = {*RUNS, *_connecting(hosts)}
        if is_read and (hosts or not _is_known(command, own)):
            raised.add(UNTRUSTED)
        grant = _grant(name, f"{matcher}: {command}" if matcher else command, at, raised)
        if not every:
            return grant
        for path, (spelled, _) in perhaps.items():
            command = command.replace(spelled, path)
        handler = table(Place(at.document, at.route[:-1]).data)
        by_two = self.refuses_by_two and "onFailure" not in handler
        content = _short(digest.of_data(sorted(every.items())))
        return replace(grant, content=content, refuses=refuses(command, every, HARMLESS, by_two=by_two))

    def _note_download(self, name: str, command: str, at: Location) -> None:
        message = f"`{name}` downloads a program and runs it, whatever that is by then: `{_shown(command)}`"
        hint = "keep the program in the project, where a change of it is reviewed"
        self.files.problems.append(finding("LDO557", at, message, hint=hint))

    def module(self, name: str, shown: str, at: Place, path: str | None) -> Grant:
        """A module that the client loads into itself: of the project, or from elsewhere where it has no `path`.

        What it brings may go into the conversation.
        """
        source = self.files.source(path) if path else None
        if path is None or source is None:
            return _grant(name, shown, at, {*RUNS, UNTRUSTED, *_connecting([None])})
        for span, command in programs.quoted(source):
            if scripts.runs_downloads(command):
                self._note_download(name, command, source.location(span))
        raised = {*script_abilities(path, source.text)}
        if any(each.name == CONNECTS for each in raised):
            raised.add(UNTRUSTED)
        return replace(_grant(name, shown, at, raised), content=_short(digest.of_text(source.text)))

    def address(self, name: str, address: str, at: Place, *, own: Collection[str]) -> Grant:
        """An address to which a client sends all of the conversation; those of hosts in `own` are its maker's."""
        host = scripts.host_of(address)
        if host is None or not (_is_local(host) or any(f".{host}".endswith(f".{each}") for each in own)):
            message = f"all that the model reads and writes goes to `{_shown(host or address)}`, by `{name}`"
            hint = "leave the address to each person's own settings"
            self.files.note("LDO557", at, message, hint)
        return self.receiver(name, address, at)

    def receiver(self, name: str, address: str, at: Place) -> Grant:
        """An address to which a client sends something else, or may send."""
        return _grant(name, scripts.host_of(address) or address, at, _connecting([scripts.host_of(address)]))

    def _called(self, address: str, *, is_read: bool) -> set[Capability]:
        raised = {*_connecting([scripts.host_of(address)])}
        return {*raised, UNTRUSTED} if is_read else raised


def _grant(name: str, command: str, at: Place, raised: Iterable[Capability]) -> Grant:
    raised = {*raised}
    return Grant(
        toolset=name,
        tool=_shown(command),
        capabilities=tuple(sorted(raised, key=str)),
        decision="allowed",
        origin=f"{at.document.source.path}: {name}",
        at=at,
        rule_at=at,
        is_open=any(each in RUNS for each in raised),
    )


def _connecting(hosts: Iterable[str | None]) -> Iterator[Capability]:
    hosts = {*hosts}
    yield from (Capability(CONNECTS, host) for host in ({None} if None in hosts else hosts))


def _shown(command: str) -> str:
    """A command in one line without secrets; a long one is told from others by the digest of the whole."""
    line = " ".join(command.split())
    short = line[: 2 * MAX_SHOWN]
    for secret in reversed(secrets_in(short)):
        short = f"{short[: secret.start]}…{short[secret.end :]}"
    if len(line) <= MAX_SHOWN:
        return excerpt(short, MAX_SHOWN)
    return f"{excerpt(short, MAX_SHOWN)} ({_short(digest.of_text(line))})"


def _short(whole: str) -> str:
    """The beginning of a digest, for people."""
    return whole.removeprefix("sha256:")[:8]


def _is_local(host: str) -> bool:
    return host.startswith("127.") or host == "::1" or f".{host}".endswith((".local", ".localhost"))


def project_scripts(
    files: Files, command: str, root: str = "", *, starts_there: bool = False
) -> Iterator[tuple[str, str]]:
    """The project's own scripts that a command names, each with its text; `root` is the folder of its plugin.

    `starts_there`: paths begin at that folder. The project is then another one, whose scripts are not known.
    """
    is_elsewhere = starts_there and bool(root)
    prefix = f"{root}/" if root and not is_elsewhere else ""

    def unfolded(variable: re.Match[str]) -> str:
        if variable["which"] in _OF_PROJECT:
            return variable[0] if is_elsewhere else ""
        return prefix

    plain = command.replace('"', "")
    plain = _VARIABLE.sub(unfolded, plain if is_elsewhere else _TOP.sub("", plain))
    for word in list(dict.fromkeys(_WORD.findall(plain)))[:MANY]:
        path = posixpath.normpath(posixpath.join(root, word) if is_elsewhere else word)
        if not _SCRIPT.fullmatch(word) or path.startswith(("/", "..", "~", "$")):
            continue
        if files.looked_into(path) and (script := files.source(path)):
            yield path, script.text


def scripts_elsewhere(files: Files, command: str) -> Iterator[tuple[str, str, str]]:
    """The scripts that a command names by absolute paths, which may be the project's: as spelled, path and text.

    On another machine it may be another file, so none of them vouches for anything.
    """
    for spelled, ends in list(absolute_paths(command))[:MANY]:
        for path in ends[:MANY]:
            is_there = is_script(path) and not leaves(path) and files.looked_into(path)
            if is_there and (script := files.source(path)):
                yield spelled, path, script.text
                break


def is_script(path: str) -> bool:
    """Whether the name of a file is that of a program in text."""
    return bool(_SCRIPT.fullmatch(path))


def script_abilities(path: str, script: str) -> tuple[Capability, ...]:
    """The capabilities of a script of the project: it runs, and may connect to hosts."""
    hosts = {*programs.hosts(path, script)}
    # What a named host says is that host's.
    brought = (UNTRUSTED,) if programs.brings_words(path, script) else ()
    return tuple(sorted({*RUNS, *brought, *_connecting(hosts)}, key=str))


def is_own_plugin(text: str) -> bool:
    """Whether a module is the plugin that `llmdo hook install` writes, to the letter."""
    command = _OWN_COMMAND.search(text)
    if command is None or not OWN_HOOK.fullmatch(_unquoted(command["text"])):
        return False
    return digest.of_text(text[: command.start()] + text[command.end() :]) in OWN_PLUGINS


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def is_harmless(command: str) -> bool:
    """Whether a command runs only programs that answer nothing of their own, or llmdo, which allows nothing."""
    if OWN_HOOK.fullmatch(command):
        return True
    steps = (_WORD.findall(step) for step in _STEP.split(_TEST.sub("", command)))
    programs = (next((word for word in words if "=" not in word), ":") for words in steps)
    return all(program in HARMLESS or program.isdigit() for program in programs)


def says_allow(text: str) -> bool:
    """Whether the text of a program has the answer that allows a call, as some client takes it."""
    return bool(_ALLOWS.search(text))


def may_allow(
    files: Files,
    command: str,
    root: str = "",
    says: Callable[[str, str], bool] = lambda text, _path: says_allow(text),
    *,
    starts_there: bool = False,
) -> bool | None:
    """Whether the text of a hook's command or script answers `allow`; None if it does not, False if that is unknown.

    `says` is whether a text has that answer in a form that the client takes, with its path unless it is a command.
    """
    own = [*project_scripts(files, command, root, starts_there=starts_there)]
    perhaps = [(path, script) for _, path, script in scripts_elsewhere(files, command)]
    if any(says(script, path) for path, script in (("", command), *own, *perhaps)):
        return True
    return None if own or is_harmless(command) else False


def _is_known(command: str, own: Mapping[str, str]) -> bool:
    """Whether what a command prints is certainly of the project: by known programs, or scripts without a network."""
    if any(programs.connects(path, script) for path, script in own.items()):
        return False
    names = {posixpath.basename(path) for path in own}
    for program, *rest in scripts.commands(command):
        is_own = any(posixpath.basename(word) in names for word in (program, *rest))
        is_local = program.lower() in _LOCAL and not any(word.startswith(_OUTSIDE) for word in rest)
        is_inline = not _INLINE.isdisjoint(rest) and not any(map(_FETCHES.search, rest))
        if not (is_own or is_local or is_inline):
            return False
    return True
