"""Tables of opencode's settings of which every key is known: it drops any other one, and says nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, nearest
from llmdo.base.parts import table, text
from llmdo.features.opencode.schema import REFUSED, flaws_of_server, is_switch
from llmdo.foreign import servers
from llmdo.foreign.files import COUNTS, renaming
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

_SERVERS = {
    "local": frozenset({"codemode", "command", "cwd", "enabled", "environment", "timeout", "type"}),
    "remote": frozenset({"codemode", "enabled", "headers", "oauth", "timeout", "type", "url"}),
}
"""The keys of a server by its `type` (`McpLocalConfig` and `McpRemoteConfig` of `@opencode-ai/sdk` 1.18.33)."""
_EVERY_SERVER = _SERVERS["local"] | _SERVERS["remote"]
_SIGN_IN = frozenset({"callbackPort", "clientId", "clientSecret", "redirectUri", "scope"})
_FORMATTER = frozenset({"command", "disabled", "environment", "extensions"})
_LANGUAGE_SERVER = frozenset({"command", "disabled", "env", "extensions", "initialization"})
_RENAMED = {
    "callback_port": "callbackPort",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "env": "environment",
    "environment": "env",
    "initializationOptions": "initialization",
    "redirect_uri": "redirectUri",
}
"""Names that other tools, or other tables, have for the same."""
_NOTES = frozenset({"comment", "description", "name", "note", "notes", "title"})
"""Keys of what people write down for themselves, as they do in keys that begin with a sign."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-[^}]*)?\}", re.ASCII)
"""A variable as other clients fill it in: opencode gives the text to the server as it is."""


def servers_in(document: Document) -> dict[str, tuple[Server, Place]]:
    """The servers of settings that opencode may start, each with its place, by the keys that it heeds."""
    return {
        name: (servers.server_of({key: table(value)[key] for key in table(value) if key in _keys(value)}), at)
        for name, value in table(document.data, "mcp").items()
        for at in [Place(document, ("mcp", name), of_key=True)]
        if not (is_switch(at) and any(flaws_of_server(at)))
    }


def is_on(server: Place) -> bool:
    """Whether a server is started."""
    return table(server.data).get("enabled") is not False


def note_next(files: Files, at: Place) -> bool:
    """Whether a key of a header is the list of version 2 for permissions, which is noted; a table there is a slip.

    Watched with 1.18.33: it makes an option of it.
    """
    if at.route[-1] != "permissions" or not isinstance(at.data, list):
        return False
    files.note(
        "LDO151", at, "`permissions` is a list of rules for opencode 2, of which version 1 heeds none", None
    )
    return True


def judge(files: Files, document: Document) -> None:
    """Notes the keys that do nothing, of servers and of what formats and checks files."""
    for at, what, known in _tables(document):
        for key in table(at.data):
            if key not in known | _NOTES and key[:1].isalpha():
                _unknown(files, Place(document, (*at.route, key), of_key=True), what, known)
    for name, value in table(document.data, "mcp").items():
        _judge_form(files, Place(document, ("mcp", name)))
        for key in ("environment", "headers", "url"):
            if key in _keys(value) and key in table(value):
                _judge_variables(files, Place(document, ("mcp", name, key)))


def _judge_form(files: Files, at: Place) -> None:
    """Notes the values by which a server has another form than opencode's schema."""
    dropped = "so opencode drops all of this server but `enabled`, and does not start it"
    for place, kind in flaws_of_server(at):
        message = f"`{excerpt(str(place.route[-1]))}` is {kind.lack}, {dropped if is_switch(at) else REFUSED}"
        files.note("LDO151", place, message, kind.hint)


def _judge_variables(files: Files, at: Place) -> None:
    """Notes the variables that opencode does not fill in, at a text or at each value of a table."""
    for place in [at, *(Place(at.document, (*at.route, key)) for key in table(at.data))]:
        if written := _VARIABLE.search(text(place.data)):
            form = f"{{env:{written[1]}}}"
            message = f"opencode fills in `{form}` only, and leaves `{excerpt(written[0])}` as it is"
            if written[0].startswith("${env:"):
                message = f"opencode fills in `{form}` and leaves the `$` before it"
            files.note("LDO151", place, message, f"write `{form}` in place of `{excerpt(written[0])}`")


def _tables(document: Document) -> Iterator[tuple[Place, str, frozenset[str]]]:
    """The tables with the keys of each, and the name that a sentence has for them."""
    for name, value in table(document.data, "mcp").items():
        at = Place(document, ("mcp", name))
        yield at, "a server", _keys(value)
        yield Place(document, (*at.route, "oauth")), "`oauth`", _SIGN_IN
    for name in table(document.data, "formatter"):
        yield Place(document, ("formatter", name)), "a formatter", _FORMATTER
    for name in table(document.data, "lsp"):
        yield Place(document, ("lsp", name)), "a language server", _LANGUAGE_SERVER


def _keys(server: object) -> frozenset[str]:
    """The keys that opencode heeds of a server."""
    return _SERVERS.get(text(table(server).get("type")), _EVERY_SERVER)


def _unknown(files: Files, at: Place, what: str, known: frozenset[str]) -> None:
    key = str(at.route[-1])
    around: Mapping[str, object] = table(at._replace(route=at.route[:-1]).data)
    if key == "args" and isinstance(around.get("command"), str):
        return  # what is wrong there is `command`
    is_of_other = at.route[0] == "mcp" and key in _EVERY_SERVER and what == "a server"
    which = f"a {around.get('type')} server" if is_of_other else what
    message = f"opencode does not know `{excerpt(key)}` of {which}, so it does nothing"
    files.note("LDO151", at, message, _hint(at, key, known, around))


def _hint(at: Place, key: str, known: frozenset[str], around: Mapping[str, object]) -> str | None:
    if key == "args" and "command" in known:
        return "write its words at the end of `command`"
    if key == "disabled":
        return 'write `"enabled": false`' if around[key] is True else None
    meant = _RENAMED.get(key)
    return renaming(at, key, meant if meant in known else nearest(key, known), counts=COUNTS)
