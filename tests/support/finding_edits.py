"""The edits that the hints of findings propose, made at the place of the finding as their words say."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import yaml

from llmdo.base.diagnostic import place
from llmdo.base.source import Location, Span
from llmdo.base.values import replace
from tests.support.codex_rules import by_words
from tests.support.edited_files import Edited, NotMadeError, Pair, below, merged, pairs_of, start_of, style_of
from tests.support.finding_headers import (
    above,
    all_in_quotes,
    at_the_top,
    behind_key,
    below_line,
    blank_out,
    cut_out,
    deleted,
    escaped,
    fence_below,
    first_line,
    in_place_of_table,
    in_place_of_text,
    in_quotes,
    indented_less,
    joined,
    moved_down,
    opened,
    own_line,
    spaced,
    this_line,
    unquoted,
    untabbed,
    unwrapped,
)
from tests.support.finding_words import (
    meant,
    named,
    of_server,
    only_json,
    prefixed,
    several,
    stretch,
)
from tests.support.hint_changes import make, names_in, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.base.diagnostic import Diagnostic

_BETWEEN = re.compile(r"[;:?] (?=(?:[^`]*`[^`]*`)*[^`]*$)")
_REST = re.compile(
    r",? and what else it needs|, a server's tool as .*|, which (?:leaves the tools and commands that read|takes it away|allows? as much)| and so on"
)
_STEP = re.compile(r", (?:and )?(?=(?:indent|put|take|write) )")
_AT = re.compile(r"(?P<change>.*?) \((?P<place>[^() ]+)\)")


_KEY_TOO = re.compile(r"; and (take `[^`]+` out of its header)")


def make_finding(files: Edited, each: Diagnostic, hint: str) -> None:
    """Makes the edits of one hint of a finding."""
    _make_first(files, each, hint)
    if also := _KEY_TOO.search(hint):
        make(files, also[1], place(each.at))


def _make_first(files: Edited, each: Diagnostic, hint: str) -> None:
    change = _REST.sub("", _BETWEEN.split(hint.removeprefix("a session then starts in mode `default`; "))[0])
    for pattern, made in _FORMS:
        if match := pattern.fullmatch(change):
            made(files, match, each)
            return
    parts = _AT.fullmatch(change)
    make(files, *((parts["change"], parts["place"]) if parts else (change, place(each.at))))


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
    if own and _moved_in_text(files, path, own, text[start:end], ""):
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


def _starred(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the name of a server with `/*`, wherever the finding is."""
    for at in (each.at, *(other.at for other in each.related)):
        path, start, end = stretch(files, replace(each, at=at))
        text = files.text(path)[start:end]
        files.put(path, start, end, text.replace(match["new"].removesuffix("/*"), match["new"]))


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
        end = (re.compile(r"^\[", re.MULTILINE).search(text, header.end()) or re.search(r"\Z", text)).start()
        names = "|".join(map(re.escape, rows))
        kept = re.sub(rf"^(?:{names})\s*=.*\n", "", text[header.end() : end], flags=re.MULTILINE)
        files.put(target, header.end(), end, kept)
        files.put(target, header.end(), header.end(), lines)
    else:
        files.put(target, len(text), len(text), f"\n[{table}]\n{lines}")


def _now_called(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves a key of JSON to where it is now."""
    new = match["new"]
    if "." not in new:
        meant(files, match, each)
        return
    path, start, end = stretch(files, each)
    if path.endswith(".yml"):
        if not _moved_in_text(files, path, files.chain(path, start)[-1], files.text(path)[start:end], new):
            raise NotMadeError("no JSON")
        return
    data = yaml.safe_load(files.text(path))
    more: Any = data.pop(names_in(each.message)[0])
    for key in reversed(new.split(".")):
        more = {key: more}
    files.put(path, 0, len(files.text(path)), json.dumps(merged(data, more), indent=2))


def _moved_in_text(files: Edited, path: str, own: Pair, key: str, new: str) -> bool:
    """Moves a key of JSON in a text to where it is now, or takes it out where nothing is new; whether it is there."""
    try:
        data = json.loads(own.value.value)
        more: Any = data.pop(key)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    if new:
        for part in reversed(new.split(".")):
            more = {part: more}
        data = merged(data, more)
    written = json.dumps(data).replace("'", "''")
    files.set_pair(path, own, f"{own.name}: '{written}'")
    return True


def _before_step(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a step before the one of a finding, and a permission of its job."""
    path, start, _ = stretch(files, each)
    step = next(own for own in reversed(files.chain(path, start)) if isinstance(own.name, int))
    first = files.text(path).rfind("\n", 0, start_of(step)) + 1
    indent = re.compile(" *").match(files.text(path), first)
    files.put(path, first, first, f"{indent[0] if indent else ''}{match['line']}\n")
    if match["more"]:
        make(files, f"write {match['more']}", match["at"])


def _into_server(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes lines into the table at the place of a finding, each in place of what has the same key."""
    path, start, _ = stretch(files, each)
    for line in names_in(match["lines"]):
        key, _, value = line.partition(": ")
        node = files.chain(path, start)[-1].value
        same = next((own for own in pairs_of(node) if own.name == key), None)
        if same:
            files.put(path, same.value.start_mark.index, files.end(path, same.value), value)
        else:
            files.insert(path, node, line)


def _below_event(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves a hook below an event, as the group that a hint spells, with the commands that it had."""
    path, start, _ = stretch(files, each)
    data = json.loads(files.text(path))
    hooks: Any = data.get("hooks", {})
    own = next((pair for pair in reversed(files.chain(path, start)) if isinstance(pair.name, str)), None)
    if own is None or own.name not in hooks:
        raise NotMadeError("no hook there")
    commands = re.findall(r'"command": ("(?:[^"\\]|\\.)*")', json.dumps(hooks.pop(own.name)))
    groups = [json.loads(match["group"].replace('"…"', command)) for command in commands]
    hooks.setdefault(match["event"], []).extend(groups)
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


def _as_list_of_tables(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the header of a table as that of one in a list of tables."""
    path, start, _ = stretch(files, each)
    at = files.text(path).rfind("\n", 0, start) + 1
    if not files.text(path).startswith(match["old"], at):
        raise NotMadeError("no such table")
    files.put(path, at, at + len(match["old"]), match["new"])


def _in_lines(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the items of a list, or of a text with commas, in lines of their own below its key."""
    path, start, _ = stretch(files, each)
    pair = next(own for own in reversed(files.chain(path, start)) if own.name == match["key"])
    value = yaml.safe_load(files.text(path)[pair.value.start_mark.index : pair.value.end_mark.index])
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    files.set_pair(path, pair, "\n".join([f"{match['key']}:", *(f"  - {name}" for name in names)]))


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


_INSTEAD = re.compile(r"`(?P<new>[^`]+)`(?P<where> in `settings`| of the step)? for `(?P<old>\w+)`")


def _inputs_moved(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves the values of inputs of a step to where they count now, and takes other inputs out."""
    path, start, _ = stretch(files, each)
    step = next(
        own.value for own in reversed(files.chain(path, start)) if below(own.value, "uses") is not None
    )
    text = files.text(path)[step.start_mark.index : step.end_mark.index]
    table = yaml.safe_load(text.replace("\n" + " " * step.start_mark.column, "\n"))
    inputs = table["with"]
    for old in names_in(match["out"] or ""):
        del inputs[old]
    for move in _INSTEAD.finditer(match["moves"] or ""):
        value = inputs.pop(move["old"])
        if move["where"] == " of the step":
            table[move["new"]] = value
        elif move["where"]:
            settings = json.loads(inputs.get("settings") or "{}")
            inputs["settings"] = json.dumps(merged(settings, {move["new"]: yaml.safe_load(value)}))
        elif move["new"].startswith("-"):
            words = f"{move['new']} {json.dumps(str(value))}"
            inputs["claude_args"] = f"{inputs.get('claude_args') or ''} {words}".strip()
        else:
            inputs[move["new"]] = value
    files.put(path, step.start_mark.index, files.end(path, step), json.dumps(table))


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


def _into_settings(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes keys into the settings that an input of a step has as a text of JSON."""
    path, offset = files.at(match["at"])
    own = next(own for own in reversed(files.chain(path, offset)) if own.name == match["input"])
    more: Any = json.loads(f"{{{match['line']}}}")
    more = {match["key"]: more} if match["key"] else more
    try:
        old = json.loads(str(own.value.value))
    except json.JSONDecodeError as error:  # as with an expression in place of a value
        raise NotMadeError("no JSON") from error
    settings = json.dumps(merged(old, more)).replace("'", "''")
    files.set_pair(path, own, f"{match['input']}: '{settings}'")
    del each


def _line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a line in place of another one, with what stands behind its value."""
    path, _, _ = stretch(files, each)
    start = files.text(path).lower().index(f"\n{match['old'].lower()}\n") + 1
    files.put(path, start, start + len(match["old"]), match["line"])


def _declared(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    name = names_in(each.message)[0]
    server = {"mcpServers": {name: {"command": "true"}}}
    make(files, f"write `{json.dumps(server)}` into `{match['path']}`", "")


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


def _keys_mended(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes lines into a header, puts the values of other keys in quotes, and takes others out."""
    path, start, _ = stretch(files, each)
    for line in names_in(match["lines"] or ""):
        make(files, f"write `{line}`", place(each.at))
    for key in names_in(match["quoted"] or ""):
        start = files.text(path).index(f"\n{key}:") + 1
        own = files.chain(path, start)[-1]
        text = files.text(path)[own.value.start_mark.index : files.end(path, own.value)]
        files.set_pair(path, own, f'{key}: "{text.strip()}"')
    for key in names_in(match["out"] or ""):
        start = files.text(path).index(f"\n{key}:") + 1
        files.put(path, start, files.text(path).index("\n", start) + 1, "")


def _step_by_step(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Makes several changes of a header, of which each is one that a hint proposes alone as well."""
    for step in _STEP.split(match[0]):
        make_finding(files, each, step)


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


def _into_env(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a variable into the `env` of the step at a place."""
    path, start, _ = stretch(files, each)
    steps = [pair.value for pair in reversed(files.chain(path, start))]
    step = next(each for each in steps if below(each, "uses") is not None or below(each, "run") is not None)
    env, line = below(step, "env"), match["line"]
    if env is None:
        files.insert(path, step, f"env: {{{line}}}")
    elif own := next((pair for pair in pairs_of(env) if pair.name == line.partition(":")[0]), None):
        files.set_pair(path, own, line)
    else:
        files.insert(path, env, line)


def _all_paths(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Puts what a path lacks before it, at the place of a finding and at all others that it names."""
    for at in (each.at, *(other.at for other in each.related)):
        path, start, _ = stretch(files, replace(each, at=at))
        files.put(path, start + len('"'), start + len('"'), "./")
        if match["folders"] or (at == each.at and not match["line"].endswith(match["path"])):
            text = files.text(path)
            end = text.find('"', start + len('"'))
            files.put(path, start, end, re.sub(r"(?<=[^.])/SKILL\.md\Z|SKILL\.md\Z", "", text[start:end]))


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


def _from_folder(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the path of a file from a folder, also of those that are named with it."""
    named(files, match, each)
    for other in each.related:
        if alike := re.fullmatch(rf"from `[^`]+` it is {_NEW}", other.message):
            named(files, alike, replace(each, at=other.at, message=""))


def _renamed(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Gives a file another name, and those of a finding that end as it does likewise."""
    path, new = each.at.path, match["new"]
    own = path[path.index(".", path.rindex("/") + 1) :]
    end = new[new.index(".", new.rindex("/") + 1) :]
    gone = names_in(match["gone"] or "")
    for at in each.places:
        name = at.path.rpartition("/")[2].removesuffix(own)
        if name in gone:
            files.delete(at.path)
            continue
        files.create(f"{new.rpartition('/')[0]}/{name}{end}", files.text(at.path))
        files.delete(at.path)
    for clause in _IN_FILES.finditer(match["more"]):
        for stem in names_in(clause["names"]):
            changed = f"{new.rpartition('/')[0]}/{stem}{end}"
            make_finding(
                files, replace(each, at=Location(changed, Span(1, 1, 1, 1)), related=()), clause["change"]
            )


def _files_out(files: Edited, _: re.Match[str], each: Diagnostic) -> None:
    """Deletes the files of a finding."""
    for at in each.places:
        files.delete(at.path)


def _meant_or_out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a name in place of another one at each place, or takes that out where the name is in its line."""
    for at in each.places:
        here = replace(each, at=at)
        path, start, end = stretch(files, here)
        text = files.text(path)
        line = text[text.rfind("\n", 0, start) : text.find("\n", end)]
        if re.search(rf"\b{match['new']}\b", line):
            _out(files, match, here)
        else:
            meant(files, match, here)


_NEW = r"`(?P<new>[^`]+)`"
_LINE = r"`(?P<line>[^`]+)`"
_IN_FILES = re.compile(
    r", and in (?:each of )?(?P<names>`[^`]+`(?:(?:, | and )`[^`]+`)*) (?P<change>.+?)(?=, and in |\Z)"
)
_KEY = r"`(?P<key>[^`]+)`"
_ONE_INSTEAD = r"`[^`]+`(?: in `settings`| of the step)? for `\w+`(?: in `claude_args`)?"
_ASKS = r"(?P<asks>, with `decision = \"prompt\"`)?"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Edited, re.Match[str], Diagnostic], None]], ...] = (
    (re.compile(r"(?:delete every|indent with|put the text in quotes|write a blank behind).*, and (?:indent|put|take|write) .*"), _step_by_step),
    (re.compile(rf"write `pattern = \[(?P<parts>[^`]*)\]`{_ASKS}"), by_words),
    (re.compile(rf"write a rule for each, (?P<patterns>`[^`]+`(?:, `[^`]+`)*){_ASKS}"), by_words),
    (re.compile(rf"give (?P<keeps>it|each) a rule of its own, (?P<patterns>`[^`]+`(?:, `[^`]+`)*?){_ASKS}"), by_words),
    (re.compile(r"indent with spaces"), untabbed),
    (re.compile(r"leave the quotes out"), unquoted),
    (re.compile(r"write a blank behind the colon of (?P<keys>`[^`]+`(?:(?:, | and )`[^`]+`)*)"), spaced),
    (re.compile(r"write a blank behind each colon in its header"), spaced),
    (re.compile(rf"write {_LINE} in its header, with a blank behind each colon"), spaced),
    (re.compile(rf"write {_LINE} at the top of its header"), at_the_top),
    (re.compile(rf"write {_LINE} in place of the text in its header"), in_place_of_text),
    (re.compile(rf"did you mean {_NEW}\??"), meant),
    (re.compile(rf"write {_NEW} for it, but take it out where `[^`]+` is there already"), _meant_or_out),
    (re.compile(rf"(?:a|an agent) file says {_NEW}"), meant),
    (re.compile(rf"it is (?:now )?called {_NEW}(?: here)?"), _now_called),
    (re.compile(rf"from `[^`]+` it is {_NEW}(?:, and the others likewise)?"), _from_folder),
    (re.compile(rf"rename it to {_NEW}(?:, and the others likewise)?(?P<more>(?:, and in .+?)?)(?:, but take (?P<gone>.+) out, as .*)?"), _renamed),
    (re.compile(r"take (?:it|them) out, as (?:it is|they are) there as (?:an agent|agents) already"), _files_out),
    (re.compile(r"write the provider before it"), named),
    (re.compile(r"its tools are called `(?P<new>mcp__[^`]+)`"), prefixed),
    (re.compile(r"write `\\\\` for `\\`"), escaped),
    (re.compile(r"write (?P<all>`[^`]+` for `[^`]+`(?:, `[^`]+` for `[^`]+`)*)(?:, and take (?P<rest>.*) out)?(?:, and likewise for \d+ more)?"), several),
    (re.compile(r"if the server `[^`]+` has (?:it|them), write `[^`]+`"), of_server),
    (re.compile(r"write `(?P<new>[^`/]+/[\w.-]+)`"), of_server),
    (re.compile(r"write `(?P<new>[^`/]+/\*)`"), _starred),
    (re.compile(rf"write {_LINE} in its header"), _in_header),
    (re.compile(r"write (?P<lines>`[^`]+`(?:, `[^`]+`)*) into it"), _into_server),
    (re.compile(
        r"(?:write (?P<lines>`[^`]+`(?: and `[^`]+`)?) in its header)?(?:(?:, (?:and )?)?put (?P<quoted>`[^`]+`.*?) in quotes)?"
        r"(?:(?:, (?:and )?)?take (?P<out>`[^`]+`(?: and `[^`]+`)?) out)?"
    ), _keys_mended),
    (re.compile(rf"write {_LINE} under `permissions`(?:, or deny .*)?"), _read_only_token),
    (re.compile(rf"write {_LINE} under its `env`(?:; `[^`]+` is a name that it does not read)?(?:, but .*)?"), _into_env),
    (re.compile(rf"write {_LINE} in place of `(?P<path>[^`]+)`, and the others likewise(?P<folders>, each `SKILL.md` by its folder)?"), _all_paths),
    (re.compile(r"write `env: \{(?P<line>[^}`]+)\}` into its step(?:, but .*)?"), _into_env),
    (re.compile(r"take this out(?:, as `[^`]+`(?: and `[^`]+`)* allows? commands by name)?, and take (?P<also>.*)"), _out_of_both),
    (re.compile(r"take this out, as `[^`]+`(?: and `[^`]+`)* allows? commands by name|take this out, and name the commands .*|take `trust` out, and name the tools .*|(?:take this line|take (?:the key `[^`]+`|this item)) out(?:, and the comma before it)?(?:, and allow by name what it needs)?"), _out),
    (re.compile(r"take (?:(?:the comment|all \d+ comments)(?: and )?)?(?:the `,`|each of the \d+ `,` before a `\]` or `\}`)? out"), only_json),
    (re.compile(r"take it out, or write `\"\*\"`, for every tool"), _out),
    (re.compile(r"take (?:this line|this|it) out|leave the key out|leave `[\w.-]+` out|remove `\w+`"), _out),
    (re.compile(r"take it out, and (?:name it in `skills`|write `skills: [^`]+` in its header)"), _out),
    (re.compile(r"leave it to each person's own `[^`]+`"), _out),
    (re.compile(r"set it(?: as `(?P<name>\w+)`)? in `(?P<path>[^`]+)`(?P<table>), for the session and all its agents"), _moved_to),
    (re.compile(r"it belongs in `\[(?P<table>[\w.]+)\]`(?P<path>)"), _moved_to),
    (re.compile(r"write `---` in a line of its own"), own_line),
    (re.compile(r"leave (?P<every>every )?`-{3,}` out of (?:the|its) header"), cut_out),
    (re.compile(rf"write `---` as the first line(?:, and write {_LINE} in its header)?"), first_line),
    (re.compile(rf"write {_LINE} in its header, with `---` as its first line"), first_line),
    (re.compile(rf"write {_LINE} in its header, with a line `---` above its first line"), opened),
    (re.compile(rf"write a line `---` above it, and write {_LINE} in its header"), opened),
    (re.compile(r"delete the `(?P<text>[^`]+)`"), deleted),
    (re.compile(r"delete (?:every blank and empty line around (?:it|the `---` that opens its header)|the blank lines above it)"), blank_out),
    (re.compile(rf"move what stands above the header below it(?:, and write {_LINE} in its header)?"), moved_down),
    (re.compile(rf"take the first line and the last one out(?:, and write {_LINE} in its header)?"), unwrapped),
    (re.compile(r"indent it(?:, with the lines below it that are as deep,)? as the key above"), indented_less),
    (re.compile(r"make one header of the two"), joined),
    (re.compile(rf"write {_LINE} in its header, without the first line and the last one of the file"), unwrapped),
    (re.compile(rf"write {_LINE} in its header, moved up to the start of the file"), moved_down),
    (re.compile(r"put (?:the text|it|text) in (?:single |double )?quotes(?:,.*)?(?: if .*)?"), in_quotes),
    (re.compile(r"put the text, with the indented lines below it, in double quotes(?:,.*,)? if .*"), all_in_quotes),
    (re.compile(r"write the list behind `tools:`, in the same line"), behind_key),
    (re.compile(rf"write a line {_LINE} above it"), above),
    (re.compile(rf"write {_LINE} in place of this line"), this_line),
    (re.compile(rf"write {_LINE} in place of the table"), in_place_of_table),
    (re.compile(rf"write {_LINE} below the last key"), fence_below),
    (re.compile(rf"write {_LINE} below line (?P<number>\d+), as .*"), below_line),
    (re.compile(rf"write {_LINE} before it(?:, and (?P<more>`[^`]+` under `[^`]+`) \((?P<at>[^()]+)\))?"), _before_step),
    (re.compile(r"write `(?P<group>\{[^`]*)` into the list `(?P<event>\w+)`, in place of it"), _below_event),
    (re.compile(r"write `\"(?P<event>\w+)\": \[(?P<group>[^`]*)\]` in place of it(?:, with the groups of the other tools in the same list)?"), _below_event),
    (re.compile(r"give it a name of its own"), _own_name),
    (re.compile(rf"name whole commands, such as {_NEW}"), named),
    (re.compile(r"write it as a list, with what stands in `args`|write its words at the end of `command`"), _as_list),
    (re.compile(r"write each tool in a line of its own below `(?P<key>\w+):`, with two blanks before its `-`"), _in_lines),
    (re.compile(r"write `(?P<new>\[\[[\w.]+\]\])` in place of `(?P<old>\[[\w.]+\])`"), _as_list_of_tables),
    (re.compile(rf"use `(?P<option>--\w+)` in {_KEY}"), _option_for_input),
    (re.compile(
        rf"(?:use (?P<moves>{_ONE_INSTEAD}(?:, {_ONE_INSTEAD})*))?(?:(?:, and )?take (?P<out>`\w+`(?: and `\w+`)*) out)?"
    ), _inputs_moved),
    (re.compile(rf"write {_LINE} as its {_KEY}"), _as_input),
    (re.compile(rf"write {_LINE} (?:into|under {_KEY} of) its `(?P<input>\w+)` \((?P<at>[^()]+)\)"), _into_settings),
    (re.compile(r"write `(?P<line>readonly: true)` in place of `(?P<old>readonly: [^`]*)`"), _line),
    (re.compile(r"declare it in `(?P<path>[^`]+)`"), _declared),
    (re.compile(r"write (?P<keys>`\w+`(?: and `\w+`)*) into it"), _into_it),
    (re.compile(rf"add {_NEW} to {_KEY}"), _added),
    (re.compile(r"without `(?P<name>[^`]+)` in `[^`]+` there is none"), _circle),
    (re.compile(r"write `(?P<new>\{file:[^`]+\})`"), named),
    (re.compile(r"write `(?P<new>[A-Za-z-]+|mcp__\w+|\w+\([^`]*\)|\"enabled\": false|\"\./[^`]*)`"), named),
)  # fmt: skip
"""The forms of a hint of a finding; the first that is meant makes it, and one of none is a change of a flow's hint."""
