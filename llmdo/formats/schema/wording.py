"""Faults as findings: the problems of a file, in the user's words and at their places."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding, nearest, only_match
from llmdo.base.parts import table
from llmdo.graph.keys import giving_nothing
from llmdo.graph.resolved import Entry
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Toolset
from llmdo.graph.worker import Worker
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic, Fix
    from llmdo.base.source import Location
    from llmdo.formats.schema.acceptance import Format, JsonSchema
    from llmdo.formats.schema.validation import SchemaFault
    from llmdo.syntax.document import Document, Route

_FEW = 8  # keys that a hint may list: more is a wall of words

_BARE = re.compile(r"[A-Za-z0-9_-]+")

_ESCAPE = re.compile(r"(?:^|:)(?:/|~|[A-Za-z]:[/\\])|\\|(?:^|[/:])\.\.(?:[/:]|$)")
"""The way out of the workspace in a text for a path inside it, perhaps with a capability or an attribute."""

_IN_YAML: frozenset[Format] = frozenset({"worker", "team", "eval", "script"})
"""The formats whose tables are mappings, and have no header of their own."""

_OF_NAMES = frozenset({"entries", "toolsets", "workers"})
"""Tables of the manifest whose keys are names."""

_GIVING_NOTHING: Mapping[Format, frozenset[str]] = {
    "manifest": frozenset(
        {"workspace", "models", "entries"}
        | {f"toolsets.*.{key}" for key in giving_nothing(Toolset)}
        | {f"workspace.{key}" for key in ("requires-llmdo", "workers", "toolset-modules")}
        | {"toolsets.*", "entries.*"}
        | {f"workspace.{key}" for key in giving_nothing(Settings)}
        | {f"entries.*.{key}" for key in giving_nothing(Entry)}
    ),
    "worker": frozenset({"toolsets", "toolsets.*", "toolsets.*.read", *giving_nothing(Worker)}),
    "team": frozenset(),
    "lock": frozenset(),
    "policy": frozenset(),
    "eval": frozenset(),
    "script": frozenset(),
}
"""The keys that can give no permission, each with the tables that it is in."""

_DECISIONS = {
    **dict.fromkeys(("ask", "asked", "approve", "approval", "confirm", "prompt"), "needs_approval"),
    **dict.fromkeys(("always", "auto", "ok", "true", "yes"), "allowed"),
    **dict.fromkeys(("denied", "deny", "forbid", "forbidden", "never", "no", "false", "reject"), "blocked"),
}
"""Other tools' words for a decision."""

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a finite number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


def findings(document: Document, form: Format, faults: Iterable[SchemaFault]) -> Iterator[Diagnostic]:
    """One finding for each fault; one for both if an unknown key is a missing one, misspelt."""
    faults = tuple(faults)
    misspelt = _misspelt(faults)
    for fault in faults:
        if fault.keyword == "additionalProperties":
            yield _unknown_key(document, form, fault, misspelt.get(fault.route))
        elif fault.keyword != "required":
            yield _wrong_value(document, form, fault)
        elif fault not in misspelt.values():
            message = f"missing key `{fault.text}` {_inside(fault.route, form)}"
            yield finding("LDO104", document.key(*fault.route), message, hint=_to_add(fault, form))


def _to_add(fault: SchemaFault, form: Format) -> str | None:
    """The hint with the line that a table lacks; None if its value is no text and no number."""
    schema = fault.schema["properties"].get(fault.text, {})
    if schema.get("type") == "object" and form not in _IN_YAML:
        return f"add `[{'.'.join(map(str, (*fault.route, fault.text)))}]`"
    values = {"string": '"..."', "integer": "...", "array": "[...]"}
    words = [f'"{word}"' for word in schema.get("enum", ())]
    value = (
        str(schema["const"])
        if "const" in schema
        else " or ".join(words) or values.get(str(schema.get("type")))
    )
    return value and f"add `{fault.text}{': ' if form in _IN_YAML else ' = '}{value}`"


def _misspelt(faults: Iterable[SchemaFault]) -> dict[Route, SchemaFault]:
    """The route of each unknown key that is like a missing one of the same table, and the latter's fault."""
    unknown: dict[Route, list[str]] = defaultdict(list)
    for fault in faults:
        if fault.keyword == "additionalProperties":
            unknown[fault.route[:-1]].append(fault.text)
    misspelt: dict[Route, SchemaFault] = {}
    for fault in faults:
        if fault.keyword == "required" and (near := nearest(fault.text, unknown[fault.route])):
            unknown[fault.route].remove(near)
            misspelt[*fault.route, near] = fault
    return misspelt


def _unknown_key(
    document: Document, form: Format, fault: SchemaFault, missing: SchemaFault | None
) -> Diagnostic:
    known = sorted(fault.schema["properties"])
    message = f"unknown key `{excerpt(fault.text)}` {_inside(fault.route[:-1], form)}"
    hint = did_you_mean(fault.text, known)
    if missing is not None:
        message += f", where `{missing.text}` is missing"
        hint = f"did you mean `{missing.text}`?"
    elif hint is None and len(known) <= _FEW:
        hint = f"known here: {', '.join(f'`{key}`' for key in known)}"
    meant = missing.text if missing else only_match(fault.text, known)
    return finding(
        "LDO102",
        document.key(*fault.route),
        message,
        hint=hint,
        fix=_respelt(document, form, fault, meant) if meant else None,
    )


def _respelt(document: Document, form: Format, fault: SchemaFault, meant: str) -> Fix | None:
    """The edit that spells an unknown key as the key `meant`.

    It is safe only for a key that can give no permission, because the edit puts its value into force: names, edges and
    texts, to which every rule and ceiling applies as before, and values that only ever tighten, such as `may`, `limits`
    and an entry's `approvals`. Left to people are the manifest's `approvals`, the declarations of a toolset, the writes
    of a file system toolset, every raise of a limit, and a table that holds any such key.
    """
    *above, _ = fault.route
    at = Place(document, fault.route, of_key=True)
    safe = _gives_nothing(form, (*map(str, above), meant), at.data)
    if form == "manifest" and "workspace" in (meant, *above):
        # It may be a key without which nothing of the file is in force.
        others: list[tuple[tuple[str, ...], object]] = [
            ((key,), value) for key, value in document.data.items() if key not in ("schema", "workspace")
        ]
        others += [(("workspace", key), value) for key, value in table(document.data, "workspace").items()]
        safe = safe and all(_gives_nothing(form, *each) for each in others if each[0][-1] != fault.text)
    return at.respelt(fault.text, meant, safe=safe)


def _gives_nothing(form: Format, route: tuple[str, ...], value: object) -> bool:
    """Whether the value of a key, with all its parts, can give no permission."""
    key = ".".join(
        "*" if number == 1 and route[0] in _OF_NAMES else step for number, step in enumerate(route)
    )
    if key not in _GIVING_NOTHING[form]:
        return False
    if not isinstance(value, dict) or not any(known.startswith(f"{key}.") for known in _GIVING_NOTHING[form]):
        return True
    return all(_gives_nothing(form, (*route, str(below)), each) for below, each in value.items())


def _wrong_value(document: Document, form: Format, fault: SchemaFault) -> Diagnostic:
    at = (document.key if fault.of_key else document.value)(*fault.route)
    match fault.keyword:
        case "pattern" | "minLength" | "minItems" if not fault.value:
            return finding("LDO103", at, f"{_subject(fault)} is empty")
        case "pattern":
            return _misfit(at, fault)
    message = f"{_subject(fault)} is {_value(fault.value, form)}, {_limit(fault, form)}"
    return finding("LDO103", at, message, hint=_hint(fault))


def _misfit(at: Location, fault: SchemaFault) -> Diagnostic:
    meaning = fault.schema["title"]
    if "variable" in meaning and "://" in fault.text:
        hint = "put it into a variable such as ACME_STORE, and name that one here"
        return finding("LDO103", at, f"an address is not {meaning}, and may hold a password", hint=hint)
    escape = _ESCAPE.search(fault.text) if "the workspace" in meaning else None
    if escape is None:
        return finding("LDO103", at, f"`{excerpt(fault.text)}` is not {meaning}")
    hint = "a path starts in the folder of `llmdo.toml` and stays below it"
    if escape.group() == "\\":
        hint = "write `/` between the parts of a path"
    return finding("LDO107", at, f"`{excerpt(fault.text)}` leaves the workspace", hint=hint)


def _subject(fault: SchemaFault) -> str:
    """The value's name in a sentence: its key, or the list or table that it is an item of."""
    *parents, last = fault.route
    names = [step for step in parents if isinstance(step, str)]
    if fault.of_key:
        return f"a key of `{excerpt(names[-1])}`"
    return f"`{excerpt(last)}`" if isinstance(last, str) else f"an item of `{excerpt(names[-1])}`"


def _limit(fault: SchemaFault, form: Format) -> str:
    schema = fault.schema
    match fault.keyword:
        case "type":
            return f"not {_or(_kind(kind, schema, form) for kind in _kinds(schema))}"
        case "enum":
            return f"not {_or(f'`{word}`' for word in schema['enum'])}"
        case "const":
            return f"not {schema['const']}"
        case "minimum":
            return f"less than {schema['minimum']}"
        case "exclusiveMinimum":
            return f"not more than {schema['exclusiveMinimum']}"
        case _:
            raise AssertionError(f"no sentence for `{fault.keyword}`")


def _kinds(schema: JsonSchema) -> list[str]:
    """The JSON types that a value may have, where there is one."""
    kinds = schema["type"]
    return [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]


def _kind(kind: str, schema: JsonSchema, form: Format) -> str:
    if kind == "array" and schema["items"].get("type") == "string":
        return "a list of texts"
    return "a mapping" if kind == "object" and form in _IN_YAML else _KINDS[kind]


def _value(value: object, form: Format) -> str:
    """A value as a sentence shows it."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case str():
            return f'"{excerpt(value)}"'
        case list():
            return "a list"
        case dict():
            return _kind("object", {}, form)
        case _:
            return excerpt(str(value))


def _hint(fault: SchemaFault) -> str | None:
    value, schema = fault.value, fault.schema
    if fault.keyword == "enum":
        meant = _DECISIONS.get(fault.text.lower())
        return (
            f"did you mean `{meant}`?"
            if meant in schema["enum"]
            else did_you_mean(fault.text, schema["enum"])
        )
    if fault.keyword != "type" or value is None or isinstance(value, (list, dict)):
        return None
    if "string" in _kinds(schema) and not isinstance(value, str):
        return "put quotes around it"
    if "array" in _kinds(schema) and isinstance(value, str):
        return "put brackets around it"
    return None


def _inside(route: Route, form: Format) -> str:
    """The table of the fault: spelt as its format spells it; for an item, its list."""
    names = [excerpt(step) for step in route if isinstance(step, str)]
    if not names:
        return "in the header" if form == "worker" else "at the top level"
    if form in _IN_YAML:
        return f"in `{'.'.join(names)}`"
    table = ".".join(name if _BARE.fullmatch(name) else f'"{name}"' for name in names)
    return f"in `[[{table}]]`" if isinstance(route[-1], int) else f"in `[{table}]`"


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
