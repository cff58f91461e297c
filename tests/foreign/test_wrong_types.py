"""Each text of every case as a list: reading it ends in an answer or in a sentence."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings
from llmdo.foreign.known import formats
from tests.foreign.test_cases import ALL, format_of

JSON, YAML, TOML = (".json",), (".md", ".yml", ".yaml"), (".toml",)
LARGEST = 8000  # characters of a file that is changed
VALUES = ("[]", "[{}]")
"""Values in JSON, YAML and TOML alike, of which neither they nor their items can be members of a set."""
_LINE = re.compile(r"(?m)^([ \t-]*)([\w\"-]+)( ?[:=]).*$")


def texts(value: Any, route: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The routes to all texts of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from texts(part, (*route, key))
    if isinstance(value, str):
        yield route


def changes(path: Path) -> Iterator[tuple[object, list[str]]]:
    """The kind of each text of a file, by the keys that lead to it, and the file with other values in its place."""
    content = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in JSON:
        try:
            data = json.loads(content)
        except ValueError:
            return
        for route in texts(data):
            keys = [key for key in route if isinstance(key, str)][-2:]
            yield (path.suffix, *keys), [json.dumps(put(data, route, json.loads(each))) for each in VALUES]
    else:
        for line in _LINE.finditer(content):
            before, after = content[: line.start()], content[line.end() :]
            changed = [f"{before}{line[1]}{line[2]}{line[3]} {each}{after}" for each in VALUES]
            yield (path.suffix, line[1].isspace(), line[2]), changed


def put(data: Any, route: tuple[Any, ...], value: Any) -> Any:
    if not route:
        return value
    copy = data.copy()
    copy[route[0]] = put(data[route[0]], route[1:], value)
    return copy


@cache
def chosen() -> dict[str, list[tuple[Path, Path, list[str]]]]:
    """By format the cases with the file and its changes; a text of each kind once."""
    known: set[object] = set()
    chosen: dict[str, list[tuple[Path, Path, list[str]]]] = {form: [] for form in (*formats(), AUTO)}
    for case in ALL:
        form = format_of(case)
        for path in sorted(case.rglob("*")):
            if (
                path.suffix not in JSON + YAML + TOML
                or path.name == "page.md"
                or path.is_dir()
                or path.stat().st_size > LARGEST
            ):
                continue
            for kind, changed in changes(path):
                if (form, kind) not in known:
                    known.add((form, kind))
                    chosen[form].append((case, path.relative_to(case), changed))
    return chosen


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", [*formats(), AUTO])
def test_a_list_in_place_of_a_text_is_answered(form: str, tmp_path: Path) -> None:
    faults = []
    for number, (case, path, changed) in enumerate(chosen()[form]):
        root = tmp_path / str(number)
        shutil.copytree(case, root)
        for content in changed:
            (root / path).write_text(content, encoding="utf-8")
            try:
                findings.check(foreign.read(form, root))
            except LlmdoError:
                pass
            except Exception as error:
                faults.append((case.name, str(path), content, repr(error)))
        shutil.rmtree(root)
    assert faults == []
