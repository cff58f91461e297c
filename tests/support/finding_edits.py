"""The edits that the hints of findings propose, made at the place of the finding as their words say."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import yaml

from llmdo.base.diagnostic import place
from tests.support.edited_files import Edited, NotMadeError, below, merged, pairs_of, start_of, style_of
from tests.support.hint_changes import make, names_in, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.base.diagnostic import Diagnostic

_BETWEEN = re.compile(r"[;:?] (?=(?:[^`]*`[^`]*`)*[^`]*$)")
_REST = re.compile(
    r",? and what else it needs|, which (?:leaves the tools and commands that read|takes it away|allow as much)| and so on"
)
_AT = re.compile(r"(?P<change>.*?) \((?P<place>[^() ]+)\)")
_LINE_OF_CUT = re.compile(r"the `---` of line (\d+)")
_FENCE = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


def make_finding(files: Edited, each: Diagnostic, hint: str) -> None:
    """Makes the edit of one hint of a finding."""
    change = _REST.sub("", _BETWEEN.split(hint.removeprefix("a session then starts in mode `default`; "))[0])
    for pattern, made in _FORMS:
        if match := pattern.fullmatch(change):
            made(files, match, each)
            return
    parts = _AT.fullmatch(change)
    make(files, *((parts["change"], parts["place"]) if parts else (change, place(each.at))))


def stretch(files: Edited, each: Diagnostic) -> tuple[str, int, int]:
    """The file of a finding, and the start and the end of what is marked in it."""
    path, start = files.at(place(each.at))
    span = each.at.span
    if start is None or span is None:
        raise NotMadeError("no line")
    _, end = files.at(f"{path}:{span.end_line}:{span.end_column}")
    return path, start, end or start


def _meant_before(files: Edited, each: Diagnostic) -> str:
    """The name of a message that is marked at its place, or else its first one."""
    path, start, end = stretch(files, each)
    marked, names = files.text(path)[start:end], names_in(each.message)
    return next((name for name in names if name in marked), names[0])


def _reworded(files: Edited, each: Diagnostic, before: str, after: str) -> None:
    """Writes a name in place of another one at the place of a finding."""
    path, start, end = stretch(files, each)
    text = files.text(path)
    at = text.find(before, start, max(end, start + len(before)))
    if at < 0:
        raise NotMadeError(f"no {before} at its place")
    files.put(path, at, at + len(before), after)


def _meant(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    _reworded(files, each, _meant_before(files, each), match["new"])


def _named(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a name for one of those in the message that are at the place."""
    path, start, end = stretch(files, each)
    marked, new = files.text(path)[start:end], match.groupdict().get("new") or names_in(each.hint or "")[-1]
    if "HOST" in new or "FOLDER" in new or "PROVIDER" in new:
        new = new.replace("HOST", "example.com").replace("FOLDER", "a").replace("PROVIDER", "acme")
    quoted = new.strip('"')
    if re.match(r'"\w+": ', new):
        files.set_pair(path, files.chain(path, start)[-1], new)
        return
    before = next((name for name in names_in(each.message) if name in marked), marked.strip("\"'"))
    _reworded(files, each, before, quoted)


def _several(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    for new, before in re.findall(r"`([^`]+)` for `([^`]+)`", match["all"]):
        path, start, end = stretch(files, each)
        holder = next((own for own in reversed(files.chain(path, start)) if own.name == "tools"), None)
        first, last = (
            (start, end) if holder is None else (holder.value.start_mark.index, files.end(path, holder.value))
        )
        at = re.compile(rf"\b{re.escape(before)}\b").search(files.text(path), first, last)
        if at is None:
            raise NotMadeError(f"no {before} there")
        files.put(path, at.start(), at.end(), new)


def _of_server(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the names of tools of a server with the server before them, wherever the finding is."""
    del match
    new, bare = names_in(each.hint or "")[-1], names_in(each.message)
    server = new.rpartition("/")[0]
    for name in bare:
        if "/" not in name and name != server:
            for at in (each.at, *(other.at for other in each.related)):
                text, (path, start) = files.text(at.path), files.at(place(at))
                for found in [*re.finditer(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", text)][::-1]:
                    if start is None or found.start() >= text.rfind("\n", 0, start):
                        files.put(path, found.start(), found.end(), f"{server}/{_short(name, server, new)}")
                        break


def _short(name: str, server: str, new: str) -> str:
    """The name of a tool without a prefix that names its server."""
    own = new.rpartition("/")[2]
    return own if name.endswith(own) else name.rpartition(f"{server.lower()}_")[2]


def _out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes what is at the place of a finding out."""
    del match
    path, start, end = stretch(files, each)
    text = files.text(path)
    if path.endswith(".toml"):
        _toml_out(files, path, start)
        return
    try:
        chain = files.chain(path, start)
    except NotMadeError:
        chain = []
    own = chain[-1] if chain else None
    if (each.hint or "").endswith(" into it, or take it out"):
        own = next(pair for pair in reversed(chain) if isinstance(pair.name, int))
        files.remove(path, own)
        return
    if own and isinstance(own.value, yaml.ScalarNode) and own.value.start_mark.index <= start:
        whole = text[own.value.start_mark.index : files.end(path, own.value)]
        if whole.strip("\"'") != text[start:end].strip("\"'"):
            take(files, place(each.at), str(own.name), text[start:end].strip("\"'"))
            return
    if own:
        files.remove(path, own)
        return
    first = text.rfind("\n", 0, start) + 1
    if start == first:
        files.put(path, first, text.find("\n", first) + 1, "")
        return
    take(files, place(each.at), None, text[start:end].strip("\"'"))


def _toml_out(files: Edited, path: str, start: int) -> tuple[str, Any]:
    """Takes a key of a file of TOML out; its name and value."""
    text = files.text(path)
    first = text.rfind("\n", 0, start) + 1
    if text[first] == "[":
        last = re.compile(r"^\[", re.MULTILINE).search(text, first + 1)
        part = text[first : last.start() if last else len(text)]
    else:
        part = next(
            text[first:at]
            for at in (*(each.end() for each in re.finditer(r"\n|\Z", text)),)
            if at > first and _is_toml(text[first:at])
        )
    files.put(path, first, first + len(part), "")
    return next(iter(tomllib.loads(part).items()))


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def _moved_to(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes a setting of Codex out, and sets it in another file or table."""
    path, start, _ = stretch(files, each)
    name, value = _toml_out(files, path, start)
    name = match.groupdict().get("name") or name
    target, into = (match["path"], "") if match["path"] else (path, match["table"])
    if not (files.root / target).exists():
        files.create(target, "")
    text = files.text(target)
    rows = value if isinstance(value, dict) else {name: value}
    table = name if isinstance(value, dict) else into
    lines = "".join(f"{key} = {json.dumps(each)}\n" for key, each in rows.items())
    if not table:
        make(files, f"write `{lines.strip()}`", target)
        return
    header = re.search(rf"^\[{re.escape(table)}\]\s*?\n", text, re.MULTILINE)
    if header:
        files.put(target, header.end(), header.end(), lines)
    else:
        files.put(target, len(text), len(text), f"\n[{table}]\n{lines}")


def _now_called(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves a key of JSON to where it is now."""
    new = match["new"]
    if "." not in new:
        _meant(files, match, each)
        return
    path, _, _ = stretch(files, each)
    data = yaml.safe_load(files.text(path))
    more: Any = data.pop(names_in(each.message)[0])
    for key in reversed(new.split(".")):
        more = {key: more}
    files.put(path, 0, len(files.text(path)), json.dumps(merged(data, more), indent=2))


def _deleted(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, _ = stretch(files, each)
    files.put(path, start, start + len(match["text"]), "")


def _cut_out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes the `---` out that ends a header too early, at the place or in the line that the message names."""
    path, start, end = stretch(files, each)
    text = files.text(path)
    if match["every"]:
        fences = [*re.finditer(r"^---[ \t]*$", text, re.MULTILINE)]
        for dashes in [*re.finditer("---", text[: fences[1].start()])][:0:-1]:
            files.put(path, dashes.start(), dashes.end(), "")
        return
    if named := _LINE_OF_CUT.search(each.message):
        lines = text.splitlines(keepends=True)
        start = sum(map(len, lines[: int(named[1]) - 1]))
        end = start + len(lines[int(named[1]) - 1])
    at = text.find("---", start, end)
    if at < 0:
        raise NotMadeError("no `---` there")
    alone = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)].strip() == "---"
    files.put(path, at, at + 3 + alone, "")


def _own_line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, end = stretch(files, each)
    files.put(path, start, end, "\n---\n")
    del match


def _blank_out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    del match
    path, text = each.at.path, files.text(each.at.path)
    own = re.match(r"\s*---\s*", text)
    if own is None:
        raise NotMadeError("no `---` there")
    files.put(path, 0, own.end(), "---\n")


def _moved_down(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves what stands above a header below it, and writes a line into it if the hint has one."""
    path, text = each.at.path, files.text(each.at.path)
    fences = [*_FENCE.finditer(text)]
    if len(fences) < 2:
        raise NotMadeError("no header")
    top, (first, last) = text[: fences[0].start()], fences[:2]
    line = f"{match['line']}\n" if match.groupdict().get("line") else ""
    header = f"{text[first.start() : last.start()]}{line}---\n"
    files.put(path, 0, len(text), f"{header}{top}{text[last.end() :]}")


def _in_quotes(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Puts the text of a line in quotes, from behind its key to its end."""
    del match
    path, start, _ = stretch(files, each)
    text = files.text(path)
    first, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    end = len(text) if end < 0 else end
    own = re.compile(r"[^\s:]+(?=:(?: |$))", re.MULTILINE).match(text, start, end)
    if own and "cannot start" in each.message:
        files.put(path, start, own.end(), json.dumps(own[0]))
        return
    if path.endswith(".toml"):
        head = re.compile(r"[^=]*=\s*").match(text, first, end)
    else:
        head = re.compile(r"\s*(?:- )?\"?[\w-]+\"?:\s+|\s*- ").match(text, first, end)
    if head is None:
        raise NotMadeError("no key in that line")
    files.put(path, head.end(), end, json.dumps(text[head.end() : end].rstrip(), ensure_ascii=False))


def _above(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, _ = stretch(files, each)
    first = files.text(path).rfind("\n", 0, start) + 1
    files.put(path, first, first, f"{match['line']}\n")


def _fence_below(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, text = each.at.path, files.text(each.at.path)
    keys = [*re.finditer(r"^[\w-]+:.*(?:\n[ -].*)*\n", text, re.MULTILINE)]
    files.put(path, keys[-1].end(), keys[-1].end(), f"{match['line']}\n")


def _before_step(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a step before the one of a finding, and a permission of its job."""
    path, start, _ = stretch(files, each)
    step = next(own for own in reversed(files.chain(path, start)) if isinstance(own.name, int))
    first = files.text(path).rfind("\n", 0, start_of(step)) + 1
    indent = re.compile(" *").match(files.text(path), first)
    files.put(path, first, first, f"{indent[0] if indent else ''}{match['line']}\n")
    if match["more"]:
        make(files, f"write {match['more']}", match["at"])


def _below_event(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves a hook below an event, with its matcher."""
    path, start, _ = stretch(files, each)
    data = json.loads(files.text(path))
    hooks: Any = data.get("hooks", {})
    own = next((pair for pair in reversed(files.chain(path, start)) if isinstance(pair.name, str)), None)
    if own is None or own.name not in hooks:
        raise NotMadeError("no hook there")
    groups = hooks.pop(own.name)
    groups = [groups] if isinstance(groups, dict) else groups
    more = json.loads(f"{{{match['line']}}}")
    hooks.setdefault(match["event"], []).extend({**more, **group} for group in groups)
    files.put(path, 0, len(files.text(path)), json.dumps(data, indent=2))


def _own_name(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Gives an agent or a mode another name, which a person would choose."""
    del match
    path, start, end = stretch(files, each)
    name = names_in(each.message)[0].rpartition("/")[2]
    text = files.text(path)
    at = re.compile(rf"\b(?:name|slug)\b.*?{re.escape(name)}").search(
        text, max(text.rfind("\n", 0, start), 0)
    )
    if at is None:
        raise NotMadeError("no name there")
    files.put(path, at.end(), at.end(), "-of-its-own")
    del end


def _as_list(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the command of a server as a list, with its arguments at the end."""
    del match
    path, start, _ = stretch(files, each)
    chain = files.chain(path, start)
    server = next(own.value for own in reversed(chain) if below(own.value, "command") is not None)
    table = yaml.safe_load(files.text(path)[server.start_mark.index : server.end_mark.index])
    command, args = table["command"], table.pop("args", [])
    table["command"] = [*([command] if isinstance(command, str) else command), *args]
    files.put(path, server.start_mark.index, server.end_mark.index, json.dumps(table))


def _option_for_input(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves the value of an input of a step into an option of another one."""
    path, start, _ = stretch(files, each)
    own = files.chain(path, start)[-1]
    value = str(own.value.value).replace('"', '\\"')
    inputs = {pair.name for pair in pairs_of(own.within)}
    if match["key"] in inputs:
        make(files, f'write `{match["option"]} "{value}"` in `{match["key"]}`', place(each.at))
        _out(files, match, each)
    else:
        files.set_pair(path, own, f"""{match["key"]}: '{match["option"]} "{value}"'""")


def _as_input(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a text as an input of a step."""
    path, start, _ = stretch(files, each)
    step = next(
        (own.value for own in reversed(files.chain(path, start)) if below(own.value, "uses") is not None),
        None,
    )
    job = (
        next(own.value for own in reversed(files.chain(path, start)) if below(own.value, "steps") is not None)
        if step is None
        else None
    )
    if job is not None:
        steps = below(job, "steps")
        step = next(
            own.value
            for own in (pairs_of(steps) if steps is not None else ())
            if "gemini" in str(getattr(below(own.value, "uses"), "value", ""))
        )
    if step is None:
        raise NotMadeError("no step there")
    inputs, quoted = below(step, "with"), match["line"].replace("'", "''")
    line = f"{match['key']}: '{quoted}'"
    old = next((own for own in pairs_of(inputs) if own.name == match["key"]), None) if inputs else None
    if inputs is None:
        files.insert(path, step, f"with: {{{line}}}")
    elif old:
        files.set_pair(path, old, line)
    else:
        files.insert(path, inputs, line)


def _value(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a key with another value in place of that key."""
    path, start, _ = stretch(files, each)
    key = match["line"].partition(":")[0]
    own = next((pair for pair in pairs_of(files.tree(path)) if pair.name == key), None)
    if own is None:
        raise NotMadeError(f"no key {key}")
    files.set_pair(path, own, match["line"])
    del start


def _declared(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    name = names_in(each.message)[0]
    server = {"mcpServers": {name: {"command": "true"}}}
    make(files, f"write `{json.dumps(server)}` into `{match['path']}`", "")


def _prefixed(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the name of a server's tools with that of its plugin."""
    path, start, end = stretch(files, each)
    begins = match["new"].removesuffix("TOOL").removesuffix("__")
    old = re.compile(r"mcp__[\w-]+?(?=__|\b)").search(files.text(path), start, end)
    if old is None:
        raise NotMadeError("no tool of a server there")
    files.put(path, old.start(), old.end(), begins)


def _into_it(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes keys into the table of a finding, each with a text that a person would write."""
    path, start, _ = stretch(files, each)
    own = next(pair for pair in reversed(files.chain(path, start)) if isinstance(pair.name, int))
    for key in names_in(match["keys"]):
        files.insert(path, own.value, f"{key}: {'agent' if key == 'agent' else 'a text'}")
        path, start, _ = stretch(files, each)
        own = next(pair for pair in reversed(files.chain(path, start)) if isinstance(pair.name, int))


def _added(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, _, _ = stretch(files, each)
    node = below(files.tree(path), match["key"])
    if node is None:
        raise NotMadeError(f"no {match['key']} there")
    end = files.end(path, node)
    if isinstance(node, yaml.SequenceNode):
        item = node.value[-1]
        files.put(path, files.end(path, item), files.end(path, item), f", {match['new']}")
    else:
        end -= bool(style_of(node))
        files.put(path, end, end, f", {match['new']}")


def _in_header(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    make(files, f"write `{match['line']}`", place(each.at))


def _out_of_both(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes what is at the place of a finding out, and names out of another list."""
    _out(files, match, each)
    make(files, f"take {match['also']}", each.at.path)


def _read_only_token(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a right into the permissions of a job, or of the whole workflow."""
    path, start, _ = stretch(files, each)
    jobs = [pair.value for pair in reversed(files.chain(path, start))]
    for table in (*jobs, files.tree(path)):
        rights = below(table, "permissions")
        if rights is None:
            continue
        own = next((pair for pair in pairs_of(rights) if pair.name == "contents"), None)
        if own:
            files.set_pair(path, own, match["line"])
        elif isinstance(rights, yaml.ScalarNode):
            files.put(path, rights.start_mark.index, files.end(path, rights), f"{{{match['line']}}}")
        else:
            files.insert(path, rights, match["line"])
        return
    files.put(path, 0, 0, f"permissions:\n  {match['line']}\n")


def _circle(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, end = stretch(files, each)
    try:
        own = files.chain(path, start)
        if own[-1].name == match["name"]:
            files.remove(path, own[-1])
            return
        key = next(pair for pair in reversed(own) if isinstance(pair.name, str))
    except NotMadeError:
        key = None
    take(files, place(each.at), str(key.name) if key else None, files.text(path)[start:end].strip("\"'"))


_NEW = r"`(?P<new>[^`]+)`"
_LINE = r"`(?P<line>[^`]+)`"
_KEY = r"`(?P<key>[^`]+)`"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Edited, re.Match[str], Diagnostic], None]], ...] = (
    (re.compile(rf"did you mean {_NEW}\??"), _meant),
    (re.compile(rf"(?:a|an agent) file says {_NEW}"), _meant),
    (re.compile(rf"it is (?:now )?called {_NEW}(?: here)?"), _now_called),
    (re.compile(rf"from `[^`]+` it is {_NEW}"), _named),
    (re.compile(r"write the provider before it"), _named),
    (re.compile(r"its tools are called `(?P<new>mcp__[^`]+)`"), _prefixed),
    (re.compile(r"write (?P<all>`[^`]+` for `[^`]+`(?:, `[^`]+` for `[^`]+`)*)"), _several),
    (re.compile(r"if the server `[^`]+` has (?:it|them), write `[^`]+`"), _of_server),
    (re.compile(r"write `(?P<new>[^`/]+/[\w.-]+)`"), _of_server),
    (re.compile(rf"write {_LINE} in its header"), _in_header),
    (re.compile(rf"write {_LINE} under `permissions`(?:, or deny .*)?"), _read_only_token),
    (re.compile(r"take this out, as `[^`]+` allows commands by name, and take (?P<also>.*)"), _out_of_both),
    (re.compile(r"take this out, and name the commands .*|take this line out and allow by name what it needs"), _out),
    (re.compile(r"take (?:this line|this|it) out|leave the key out|leave `[\w.-]+` out|remove `\w+`"), _out),
    (re.compile(r"leave it to each person's own `[^`]+`"), _out),
    (re.compile(r"set it(?: as `(?P<name>\w+)`)? in `(?P<path>[^`]+)`(?P<table>), for the session and all its agents"), _moved_to),
    (re.compile(r"it belongs in `\[(?P<table>[\w.]+)\]`(?P<path>)"), _moved_to),
    (re.compile(r"write `---` in a line of its own"), _own_line),
    (re.compile(r"leave (?P<every>every )?`---` out of (?:the|its) header"), _cut_out),
    (re.compile(r"delete the `(?P<text>[^`]+)`"), _deleted),
    (re.compile(r"delete every blank and empty line around it"), _blank_out),
    (re.compile(r"move what stands above the header below it"), _moved_down),
    (re.compile(rf"write {_LINE} in its header, moved up to the start of the file"), _moved_down),
    (re.compile(r"put (?:the text|it|text) in quotes(?: if .*)?"), _in_quotes),
    (re.compile(rf"write a line {_LINE} above it"), _above),
    (re.compile(rf"write {_LINE} below the last key"), _fence_below),
    (re.compile(rf"write {_LINE} before it(?:, and (?P<more>`[^`]+` under `[^`]+`) \((?P<at>[^()]+)\))?"), _before_step),
    (re.compile(rf"write it below `(?P<event>[^`]+)`, with {_LINE}"), _below_event),
    (re.compile(r"give it a name of its own"), _own_name),
    (re.compile(r"write it as a list, with what stands in `args`|write its words at the end of `command`"), _as_list),
    (re.compile(rf"use `(?P<option>--\w+)` in {_KEY}"), _option_for_input),
    (re.compile(rf"write {_LINE} as its {_KEY}"), _as_input),
    (re.compile(r"write `(?P<line>readonly: true)` in place of `readonly: false`"), _value),
    (re.compile(r"declare it in `(?P<path>[^`]+)`"), _declared),
    (re.compile(r"write (?P<keys>`\w+`(?: and `\w+`)*) into it"), _into_it),
    (re.compile(rf"add {_NEW} to {_KEY}"), _added),
    (re.compile(r"without `(?P<name>[^`]+)` in `[^`]+` there is none"), _circle),
    (re.compile(r"write `(?P<new>[A-Za-z-]+|\w+\([^`]*\)|\"enabled\": false|\"\./[^`]*)`"), _named),
)  # fmt: skip
"""The forms of a hint of a finding; the first that is meant makes it, and one of none is a change of a flow's hint."""
