"""The changes of hints in words, made in the files of a copy as a person would make them who reads the words alone."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from llmdo.foreign.reading import without_comments
from tests.support.edited_files import Edited, NotMadeError, Pair, below, merged, pairs_of, start_of, style_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TAKEN = re.compile(
    r"(?P<names>`[^`]+`(?:(?:, | and )`[^`]+`)*) out(?: of `(?P<key>[^`]+)`)?(?: in `(?P<path>[^`]+)`)?"
    r"(?P<also>(?:, also in `[^`]+`)*)"
)
NAME = re.compile(r"`([^`]*)`")
_KEY = re.compile(r'"?(?P<key>[^":]+?)"?: (?P<value>.*)', re.DOTALL)
_TOML = re.compile(r"(?P<key>[\w.]+) = .*")
_AGENTS = ("agent", "agents", "mode")
_COMMA = re.compile(r",(?![^(]*\))")


def names_in(text: str) -> list[str]:
    """The names in a text."""
    return NAME.findall(text)


def make(files: Edited, change: str, place: str) -> None:
    """Makes one change at a place, which is empty where none is given."""
    change = change.removesuffix(", and what else it needs")
    for pattern, made in _FORMS:
        if match := pattern.fullmatch(change):
            made(files, match, place)
            return
    raise NotMadeError(re.sub(r"`[^`]*`", "_", change))


def _pair_named(files: Edited, path: str, offset: int | None, key: str) -> Pair:
    """The key nearest around a place, or else at the top of the file."""
    chain = files.chain(path, offset)
    for each in reversed(chain):
        if each.name == key:
            return each
    tables = [*(each.value for each in reversed(chain)), files.tree(path)]
    for table in tables:
        for each in pairs_of(table):
            if each.name == key:
                return each
    raise NotMadeError(f"no key {key} there")


def _table_at(files: Edited, path: str, offset: int | None) -> yaml.Node:
    """The table into which a line at a place goes: that of an agent, of a step, or the top of the file."""
    chain = files.chain(path, offset)
    for each in reversed(chain):
        if each.route[:-1] and each.route[0] in _AGENTS and len(each.route) == 2:
            return each.value
    return files.tree(path)


def _taken(files: Edited, match: re.Match[str], place: str) -> None:
    if further := re.search(r", and (write .*)", match["what"]):
        make(files, f"take {match['what'][: further.start()]}", place)
        make(files, further[1], place)
        return
    if not TAKEN.search(match["what"]):
        raise NotMadeError(f"take {re.sub(r'`[^`]*`', '_', match['what'])}")
    for each in TAKEN.finditer(match["what"]):
        for name in names_in(each["names"]):
            take(files, each["path"] or place, each["key"], name)
        for other in names_in(each["also"]):
            path, _ = files.at(place)
            other_path = f"{path.rpartition('/')[0]}/{other}" if "/" not in other else other
            for name in names_in(each["names"]):
                take(files, other_path, each["key"], name)


def take(files: Edited, place: str, key: str | None, name: str) -> None:
    path, offset = files.at(place)
    name = name.removesuffix("/…").removesuffix("__…")  # all items of one server
    if path.endswith(".py"):
        _take_of_python(files, path, offset)
    elif path.endswith(".toml"):
        _take_of_toml(files, path, offset)
    elif key is None:
        _take_of_text(files, path, offset, name)
    elif (
        path.endswith(".yml") and offset is not None and files.text(path).startswith(f'"{name}": {{', offset)
    ):
        _take_of_json_words(files, path, offset)
    else:
        _take_of_tree(files, place, key, name)


def _take_of_tree(files: Edited, place: str, key: str, name: str) -> None:
    path, offset = files.at(place)
    chain = files.chain(path, offset)
    keys = key.split(".")
    around = next((each for each in reversed(chain) if each.name == key), None)
    holder = around.value if around else below(files.tree(path), *keys)
    if holder is None:
        steps = [each for each in chain if [str(step) for step in each.route] == keys]
        holder = steps[-1].value if steps else None
    if holder is None and len(keys) > 1:
        holder = _pair_named(files, path, offset, keys[-1]).value
    if isinstance(holder, yaml.ScalarNode):
        _take_of_words(files, path, holder, _item_at(files.text(path), offset, name))
        return
    pairs = [*pairs_of(holder)] if holder is not None else []
    own = [each for each in pairs if name in (each.name, getattr(each.value, "value", None))]
    if not own:  # all items of one server
        begins = (f"{name}/", f"{name}__")
        words = [each for each in pairs if str(getattr(each.value, "value", "")).startswith(begins)]
        for _ in words[1:]:
            again = next(each for each in files.chain(path, files.at(place)[1]) if each.name == key)
            files.remove(
                path, [each for each in pairs_of(again.value) if str(each.value.value).startswith(begins)][-1]
            )
        own = words[:1]
    own = own or [
        each
        for each in pairs
        if offset is not None and start_of(each) <= offset <= files.end(path, each.value)
    ]
    if not own:
        raise NotMadeError(f"no {name} in {key}")
    files.remove(path, own[0])


def _item_at(text: str, offset: int | None, name: str) -> str:
    """The item of a list of words at a place, if it begins with a name; else that name."""
    word = re.compile(rf"{re.escape(name)}[\w*-]*(?:\([^()]*\))?").match(text, offset or len(text))
    return word[0] if word else name


def _take_of_words(files: Edited, path: str, node: yaml.Node, name: str) -> None:
    items = [each.strip() for each in _COMMA.split(str(node.value))]
    start, end = node.start_mark.index, files.end(path, node)
    if name not in items:
        words = str(node.value).split()
        if name not in words:
            raise NotMadeError(f"no {name} in a list of words")
        left = " ".join(each for each in words if each != name)
    else:
        left = ", ".join(each for each in items if each != name)
    is_plain = left and left[0] not in "\"'[{@`&*!|>%" and not style_of(node)
    files.put(path, start, end, left if is_plain else json.dumps(left) if left else "[]")


def _take_of_text(files: Edited, path: str, offset: int | None, name: str) -> None:
    text = files.text(path)
    if offset is None:
        raise NotMadeError("take out without a line")
    start = text.find(name, offset)
    line_end = text.find("\n", offset)
    if start < 0 or (line_end >= 0 and start > line_end):
        start = _further_item(text, offset, name)
    end = start + len(name)
    if text[start - 1] == text[end] and text[end] in "\"'":
        start, end = start - 1, end + 1
    if colon := re.compile(r"[ \t]*:\s*").match(text, end) if text[start] == '"' else None:
        _, end = json.JSONDecoder().raw_decode(text, colon.end())  # a key of JSON in a text
    if after := re.compile(r"\s*,[ \t]*").match(text, end):
        end = after.end()
    elif (before := re.search(r",\s*$", text[:start])) or (
        before := re.search(r"\s--[\w-]+[ =]$", text[:start])
    ):
        start = before.start()
    files.put(path, start, end, "")


def _take_of_json_words(files: Edited, path: str, offset: int) -> None:
    """Takes a key with its table out of JSON that is a text in YAML, with expressions perhaps."""
    text = files.text(path)
    end, depth = offset, 0
    for part in re.compile(r'"(?:[^"\\]|\\.)*"|[{}]').finditer(text, offset):
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if part[0] == "}" and not depth:
            end = part.end()
            break
    after = re.compile(r"\s*,").match(text, end)
    before = re.search(r",\s*$", text[:offset])
    start, end = (offset, after.end()) if after else (before.start() if before else offset, end)
    files.put(path, start, end, "")


def _further_item(text: str, offset: int, name: str) -> int:
    """The start of a name that is a line of its own in the list of which a place is the first item."""
    item = re.compile(rf'[ \t]*"{re.escape(name)}",?[ \t]*')
    position = text.rfind("\n", 0, offset) + 1
    for line in text[position:].split("\n"):
        if item.fullmatch(line):
            return position + line.index(name)
        if line.strip().startswith("]"):
            break
        position += len(line) + 1
    raise NotMadeError(f"no {name} at its place")


def _take_of_python(files: Edited, path: str, offset: int | None) -> None:
    for node in ast.walk(ast.parse(files.text(path))):
        if isinstance(node, ast.List):
            spans = [_span(files, path, each) for each in node.elts]
            for number, (start, end) in enumerate(spans):
                if offset is not None and start <= offset < end:
                    new = [files.text(path)[first:last] for first, last in spans]
                    del new[number]
                    files.put(path, *_span(files, path, node), f"[{', '.join(new)}]")
                    return
    raise NotMadeError("no list in Python")


def _span(files: Edited, path: str, node: ast.expr) -> tuple[int, int]:
    lines = files.text(path).splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    return (
        starts[node.lineno - 1] + node.col_offset,
        starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0),
    )


def _take_of_toml(files: Edited, path: str, offset: int | None) -> None:
    text = files.text(path)
    start = text.rfind("\n", 0, offset or 0) + 1
    header = re.compile(r"\[([^\]]+)\]").match(text, start)
    if header is None:
        raise NotMadeError("no table in TOML")
    end = len(text)
    for each in re.finditer(r"^\[\[?([^\]]+)\]", text, re.MULTILINE):
        if each.start() > start and not each[1].startswith(f"{header[1]}."):
            end = each.start()
            break
    files.put(path, start, end, "")


def _key_out(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    files.remove(path, _pair_named(files, path, offset, match["key"]))


def _hook(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    own = [each for each in files.chain(path, offset) if len(each.route) > 1 and each.route[-2] == "hooks"]
    if not own:
        raise NotMadeError("no hook there")
    files.remove(path, own[-1])


def _list(files: Edited, match: re.Match[str], place: str) -> None:
    """A line that a hint spells out in place of a list."""
    path, offset = files.at(place)
    line = _KEY.fullmatch(match["line"])
    if line is None:
        raise NotMadeError("no key in a line")
    try:
        files.set_pair(path, _pair_named(files, path, offset, line["key"]), match["line"])
    except NotMadeError:  # a header that is no YAML, of which the client reads each line
        text = files.text(path)
        start = text.rfind("\n", 0, offset or 0) + 1
        end = text.find("\n", start)
        if not text.startswith(f"{line['key']}:", start):
            raise
        files.put(path, start, end, match["line"])


def _in_place(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    line, name = match["line"], match["name"]
    if path.endswith(".py"):
        _in_python(files, path, offset)
        return
    pair = _KEY.fullmatch(line)
    around = next(reversed(files.chain(path, offset)), None) if path.endswith(".yml") else None
    if around and str(around.name).startswith("OPENCODE_"):
        _into_permission(files, path, around, line)
    elif pair and offset is not None and pair["key"] == name:
        files.set_pair(path, _pair_named(files, path, offset, name), line)
    elif pair and offset is None and pair["key"] == name:
        files.insert(path, files.tree(path), line)
    else:
        _reword(files, path, offset, name, line)


def _in_python(files: Edited, path: str, offset: int | None) -> None:
    for node in ast.walk(ast.parse(files.text(path))):
        if isinstance(node, ast.keyword) and offset is not None:
            start, end = _span(files, path, node.value)
            if start <= offset < end:
                files.put(path, start, end, "False")
                return
    raise NotMadeError("no keyword in Python")


def _reword(files: Edited, path: str, offset: int | None, name: str, line: str) -> None:
    """Writes a text in place of another one within a value."""
    text = files.text(path)
    start = text.find(name, offset or 0)
    line_end = text.find("\n", offset or 0)
    if offset is None or start < 0 or (0 <= line_end < start):
        raise NotMadeError(f"no {name} at its place")
    end = start + len(name)
    new = line
    try:
        chain = files.chain(path, offset)
    except NotMadeError:
        chain = []
    node = chain[-1].value if chain else None
    if isinstance(node, yaml.ScalarNode) and style_of(node) == '"' and node.value != name:
        new = line.replace('"', '\\"')
    elif isinstance(node, yaml.ScalarNode) and style_of(node) == "'":
        new = line.replace("'", "''")
    elif (
        isinstance(node, yaml.ScalarNode)
        and style_of(node) is None
        and node.value == name
        and "[" in text[:1]
    ):
        new = json.dumps(line)
    files.put(path, start, end, new)


def _at_end(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    key = match["key"]
    around = next(reversed(files.chain(path, offset)), None) if path.endswith(".yml") else None
    if around and str(around.name).startswith("OPENCODE_"):
        _into_permission(files, path, around, match["line"])
        return
    pair = _pair_named(files, path, offset, key)
    if match["name"]:
        own = next((each for each in pairs_of(pair.value) if each.name == match["name"]), None)
        if own is None:
            raise NotMadeError(f"no {match['name']} in {key}")
        files.remove(path, own)
        pair = _pair_named(files, path, files.at(place)[1], key)
    files.insert(path, pair.value, match["line"])


def _under(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    if match["path"]:
        _into_json(files, match["path"], {match["key"]: json.loads(f"{{{match['line']}}}")})
        return
    table = _table_at(files, path, offset)
    chain = files.chain(path, offset)
    pair = next((each for each in reversed(chain) if each.name == match["key"]), None)
    holder = pair.value if pair else below(table, *match["key"].split("."))
    if holder is None:
        raise NotMadeError(f"no {match['key']} there")
    files.insert(path, holder, match["line"])


def _into_json(files: Edited, path: str, more: dict[str, Any]) -> None:
    """Writes keys into a file of JSON, which may not be there yet."""
    if not (files.root / path).exists():
        files.create(path, json.dumps(more, indent=2))
        return
    text = files.text(path)
    data = yaml.safe_load(without_comments(text))
    if not isinstance(data, dict):
        raise NotMadeError(f"no table in {path}")
    files.put(path, 0, len(text), json.dumps(merged(data, more), indent=2))


def _into_variable(files: Edited, path: str, value: yaml.Node, line: str) -> None:
    """Writes keys into the settings of opencode that a variable of a step is."""
    settings = json.dumps(merged(json.loads(str(value.value)), json.loads(f"{{{line}}}")))
    files.put(path, value.start_mark.index, files.end(path, value), f"'{settings}'")


def _into_permission(files: Edited, path: str, variable: Pair, line: str) -> None:
    """Writes a rule into the settings of opencode that a variable of a step is."""
    is_whole = variable.name == "OPENCODE_PERMISSION" or line.startswith('"permission"')
    _into_variable(files, path, variable.value, line if is_whole else f'"permission": {{{line}}}')


def _into_env(files: Edited, match: re.Match[str], place: str) -> None:
    """Writes keys into a variable of a step, which may not be there yet."""
    path, offset = files.at(place)
    env = _pair_named(files, path, offset, match["key"]).value
    own = next((each for each in pairs_of(env) if each.name == match["name"]), None)
    if own is not None:
        _into_variable(files, path, own.value, match["line"][1:-1])
    else:
        files.insert(path, env, f"{match['name']}: '{match['line']}'")


def _into(files: Edited, match: re.Match[str], place: str) -> None:
    line, target = match["line"], match["key"]
    path, offset = files.at(place)
    if target.endswith((".json", ".jsonc")):
        _into_json(files, target, json.loads(line if line.startswith("{") else f"{{{line}}}"))
    elif target.startswith("OPENCODE_"):
        value = _pair_named(files, path, offset, target).value
        _into_variable(files, path, value, line)
    elif _KEY.fullmatch(line):
        files.insert(path, _pair_named(files, path, offset, target).value, line)
    elif "." in target:
        keys = target.split(".")
        data = json.loads(without_comments(files.text(path))) if (files.root / path).exists() else {}
        for key in keys[:-1]:
            data = data.get(key, {})
        more: Any = [*data.get(keys[-1], []), line]
        for key in reversed(keys):
            more = {key: more}
        _into_json(files, path, more)
    else:
        inputs = [below(each.value, "with") for each in reversed(files.chain(path, offset))]
        own = [pair for each in inputs if each is not None for pair in pairs_of(each) if pair.name == target]
        node = (own[0] if own else _pair_named(files, path, offset, target)).value
        end = files.end(path, node) - (1 if style_of(node) in ("'", '"') else 0)
        files.put(path, end, end, f",{line}")


def _rules(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    wanted = names_in(match["names"]) if match["names"] else []
    if match["first"]:
        _line(files, re.fullmatch(r"`(?P<line>.*)`", match["first"]), place)  # type: ignore[arg-type]
    paths = (
        [path]
        if path.endswith(".rules")
        else [each.relative_to(files.root).as_posix() for each in sorted(files.root.rglob("*.rules"))]
    )
    done = 0
    for each in paths:
        number = 0
        while calls := [*_rules_in(files, each)][number:]:
            call, pattern, text = calls[0]
            number += 1
            start, end = _span(files, each, call)
            if (pattern in wanted) if wanted else (offset is not None and start <= offset < end):
                new = f'{text[:-1].rstrip().rstrip(",")}, decision="prompt")'
                if any(given.arg == "decision" for given in call.keywords):
                    new = re.sub(r'decision\s*=\s*"\w+"', 'decision="prompt"', text)
                files.put(each, start, end, new)
                done += 1
    if done < max(1, len(wanted)):
        raise NotMadeError("no such rule")


def _rules_in(files: Edited, path: str) -> Iterator[tuple[ast.Call, str, str]]:
    for node in ast.parse(files.text(path)).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            start, end = _span(files, path, node.value)
            given = next((each.value for each in node.value.keywords if each.arg == "pattern"), None)
            try:
                parts = ast.literal_eval(given) if given else []
            except ValueError:
                parts = []
            words = [each if isinstance(each, str) else "|".join(each) for each in parts]
            yield node.value, " ".join(words), files.text(path)[start:end]


def _line(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    line = match["line"]
    if _TOML.fullmatch(line):
        _line_of_toml(files, path, offset, line)
        return
    parts = _KEY.fullmatch(line)
    if parts is None:
        raise NotMadeError("write _")
    try:
        chain = files.chain(path, offset)
    except NotMadeError:
        _into_header(files, path, line)
        return
    own = next((each for each in reversed(chain) if each.name == parts["key"]), None)
    step = next((each.value for each in reversed(chain) if below(each.value, "uses") is not None), None)
    if own is not None:
        files.set_pair(path, own, line)
    elif step is not None:
        _with(files, path, step, line, parts["key"])
    else:
        table = _table_at(files, path, offset)
        old = next((each for each in pairs_of(table) if each.name == parts["key"]), None)
        if old:
            files.set_pair(path, old, line)
        else:
            files.insert(path, table, line)


def _into_header(files: Edited, path: str, line: str) -> None:
    """Writes a line at the end of a header that is no YAML, of which the client reads each line."""
    fences = [*re.finditer(r"^---[ \t]*$", files.text(path), re.MULTILINE)]
    if len(fences) < 2 or fences[0].start():
        raise NotMadeError("no header")
    files.put(path, fences[1].start(), fences[1].start(), f"{line}\n")


def _with(files: Edited, path: str, step: yaml.Node, line: str, key: str) -> None:
    """Writes an input of a step of a workflow."""
    inputs = below(step, "with")
    if inputs is None:
        files.insert(path, step, f"with: {{{json.dumps(key)}: {json.dumps(line.partition(': ')[2])}}}")
    elif any(each.name == key for each in pairs_of(inputs)):
        raise NotMadeError(f"{key} is there already")
    else:
        files.insert(path, inputs, line)


def _line_of_toml(files: Edited, path: str, offset: int | None, line: str) -> None:
    text = files.text(path)
    key = line.partition(" ")[0]
    start = text.rfind("\n", 0, offset or 0) + 1
    end = text.find("\n", start) if text.find("\n", start) >= 0 else len(text)
    if re.match(rf"{re.escape(key)}\s*=", text[start:end]):
        files.put(path, start, end, line)
        return
    table = re.search(r"^\[", text, re.MULTILINE)
    top = text[: table.start()] if table else text
    old = re.search(rf"^{re.escape(key)}\s*=.*$", top, re.MULTILINE)
    if old:
        files.put(path, old.start(), old.end(), line)
    else:
        files.put(path, 0, 0, f"{line}\n")


def _ask_for(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    for name in names_in(match["names"]):
        chain = files.chain(path, files.at(place)[1])
        table = next(
            (
                each.within
                for each in reversed(chain)
                if any(own.name == name for own in pairs_of(each.within))
            ),
            None,
        )
        pair = next((each for each in pairs_of(table) if each.name == name), None) if table else None
        if offset is None:
            raise NotMadeError(f"no {name} there")
        if pair is None:  # settings in a variable
            rule = re.compile(rf'"{re.escape(name)}":\s*(?P<word>"allow")').search(files.text(path), offset)
            if rule is None:
                raise NotMadeError(f"no {name} there")
            files.put(path, rule.start("word"), rule.end("word"), match["line"])
        elif isinstance(pair.value, yaml.MappingNode):
            files.insert(path, pair.value, match["line"])
        else:
            files.put(path, pair.value.start_mark.index, files.end(path, pair.value), match["line"])


def _option(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    text = files.text(path)
    if match["how"] == "in":
        pair = _pair_named(files, path, offset, match["key"])
        node = pair.value
        end = files.end(path, node)
        words, gap = match["line"], " "
        if style_of(node) == '"':
            end, words = end - 1, words.replace('"', '\\"')
        elif style_of(node) == "'":
            end -= 1
        elif style_of(node) in ("|", ">"):
            line = text[text.rfind("\n", 0, end) + 1 : end]
            gap = "\n" + " " * (len(line) - len(line.lstrip()))
        files.put(path, end, end, f"{gap}{words}")
        return
    if offset is None:
        raise NotMadeError("behind without a line")
    at = re.compile(rf"\b{re.escape(match['key'])}(?=\s)").search(text, max(text.rfind("\n", 0, offset), 0))
    if at is None:
        raise NotMadeError(f"no {match['key']} at its place")
    files.put(path, at.end(), at.end(), f" {match['line']}")


def _lines(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    text = files.text(path)
    first, *rest = names_in(match["lines"])
    if match["name"]:
        pair = _pair_named(files, path, offset, match["name"])
        files.set_pair(path, pair, "\n".join((first, *rest)))
        return
    start = text.rfind("\n", 0, offset or 0) + 1
    end = text.find("\n", start) + 1
    is_there = text[start:end].startswith(first.rstrip(":") + ":")
    new = "".join(f"{each}\n" for each in (first, *rest))
    files.put(path, start, end if is_there else start, new)


def _two_lines(files: Edited, match: re.Match[str], place: str) -> None:
    for line in (match["line"], match["other"]):
        make(files, f"write `{line}`", place)


def _disabled(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    files.insert(path, _pair_named(files, path, offset, match["name"]).value, match["line"])


def _header(files: Edited, match: re.Match[str], place: str) -> None:
    path, _ = files.at(place)
    files.put(path, 0, 0, f"---\n{match['line']}\n---\n")


def _contents(files: Edited, match: re.Match[str], place: str) -> None:
    path, offset = files.at(place)
    for each in reversed(files.chain(path, offset)):
        rights = below(each.value, "permissions")
        if rights is None:
            continue
        own = next((pair for pair in pairs_of(rights) if pair.name == "contents"), None)
        if own:
            files.set_pair(path, own, match["line"])
            return
        files.insert(path, rights, match["line"])
        return
    raise NotMadeError("no permissions there")


_LINE = r"`(?P<line>[^`]+)`"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Edited, re.Match[str], str], None]], ...] = (
    (re.compile(r"take this hook out"), _hook),
    (re.compile(r"delete the file"), lambda files, _, place: files.delete(files.at(place)[0])),
    (re.compile(rf"write {_LINE}, (?:as it has no other tool|without .*)"), _list),
    (re.compile(rf"write {_LINE} at the end of `(?P<key>[^`]+)`(?:,? in place of `(?P<name>[^`]+)`|, as `[^`]+` stands before `\*` already)?"), _at_end),
    (re.compile(rf"write {_LINE}(?: or the like)? in place of `(?P<name>[^`]+)`"), _in_place),
    (re.compile(rf"write {_LINE} under `(?P<key>permissions)`, or deny `[^`]+`"), _contents),
    (re.compile(rf"write {_LINE}(?: or the like)? under `(?P<key>[^`]+)`(?: of `(?P<path>[^`]+)`)?"), _under),
    (re.compile(r"write (?:(?P<first>`[^`]+`), and )?`decision = \"prompt\"` into (?:this rule(?:, which names none and so allows)?|the rules? for (?P<names>.*))"), _rules),
    (re.compile(rf"write {_LINE} into `(?P<name>OPENCODE_\w+)` under `(?P<key>env)`"), _into_env),
    (re.compile(rf"write {_LINE} into `(?P<key>[^`]+)`"), _into),
    (re.compile(r"write `(?P<line>\"disabled\": true)` for `(?P<name>[^`]+)`"), _disabled),
    (re.compile(rf"write {_LINE} for (?P<names>`.*`)"), _ask_for),
    (re.compile(rf"write {_LINE} (?P<how>in|behind) `(?P<key>[^`]+)`"), _option),
    (re.compile(r"write (?P<lines>`[^`]+` and below it .*?)(?: in place of `(?P<name>[^`]+)`)?"), _lines),
    (re.compile(rf"write {_LINE} between two lines `---` at the start of the file"), _header),
    (re.compile(rf"write {_LINE} and `(?P<other>[^`]+)`"), _two_lines),
    (re.compile(rf"write {_LINE}"), _line),
    (re.compile(r"take `(?P<key>[^`]+)` out of its header"), _key_out),
    (re.compile(r"take (?P<what>.*)"), _taken),
)  # fmt: skip
"""The forms of a change; the first that is meant makes it."""
