"""From the inputs that a person names to items: files, JSON Lines or CSV."""

from __future__ import annotations

import csv
import glob
import json
import string
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.missing import missing_file
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field, replace
from llmdo.journal.items import NewItem
from llmdo.journal.title import fields_of, filled_title
from llmdo.syntax.globs import is_pattern
from llmdo.toolsets.media import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json

MAX_ITEMS = 1_000_000
MAX_FILE_BYTES = 50_000_000  # of one input file: a run takes no more attachments in all
MAX_KEY = 200  # characters
SHOWN = 5  # mistakes of one kind in a message

RECORDS = (".jsonl", ".ndjson", ".csv")
"""The endings of files with one item per line."""


def _required(inputs: str | None) -> str:
    """The inputs that a person names.

    Raises:
        LlmdoError: There are none.
    """
    if inputs is None:
        raise LlmdoError("`--inputs` is missing", hint="--inputs 'in/*.md', a FILE.jsonl or FILE.csv, or -")
    return inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class InputChoice:
    """How inputs become items."""

    inputs: str = field(
        metadata=option(
            "Files or a glob, a FILE.jsonl or FILE.csv with a record a line, or - for JSON lines on stdin.",
            metavar="FILES",
            by=_required,
        )
    )
    more: tuple[str, ...] = ()
    """Further ones, after the first."""
    key: str | None = field(
        default=None,
        metadata=option("The field of a record that is its key; else its line is.", metavar="FIELD"),
    )
    template: str | None = field(
        default=None,
        metadata=option(
            "The text of each input, with {FIELD} of its record; of files {path}, {name}, {stem}, {text}.",
            "--input",
            metavar="TEMPLATE",
        ),
    )
    attaches: bool = False
    """Whether files are attached instead of being the input themselves."""


def items_of(choice: InputChoice, stdin: TextIO) -> Iterator[NewItem]:
    """The items, in the order of the input; files of a glob in the order of their paths.

    Raises:
        LlmdoError: A part of it cannot be an input.
    """
    for named in (choice.inputs, *choice.more):
        yield from _items_in(named, choice, stdin)


def _items_in(named: str, choice: InputChoice, stdin: TextIO) -> Iterator[NewItem]:
    path = Path(named)
    if named == "-":
        yield from _of_records(_json_lines(stdin, "standard input"), choice, "standard input")
    elif path.suffix.lower() in RECORDS and not is_pattern(named):
        with _opened(path) as file:
            lines = _rows(file, str(path)) if path.suffix.lower() == ".csv" else _json_lines(file, str(path))
            yield from _of_records(lines, choice, str(path))
    else:
        if choice.key is not None:
            raise LlmdoError("`--key` names a field of a record, and files are not records")
        yield from (_of_file(file, choice) for file in _files(named))


def titled(items: Iterable[NewItem], template: str | None) -> Iterator[NewItem]:
    """The items with the titles that `template` makes of the fields of their inputs, else of their own."""
    for item in items:
        if template is None or item.title is not None:
            yield item
            continue
        fields = {**item.fields, **fields_of(item.input or "")}
        yield replace(item, title=filled_title(template, fields))


def require_distinct(items: Iterable[NewItem]) -> Iterator[NewItem]:
    """The items as they come.

    Raises:
        LlmdoError: Two have one key, or there is none at all.
    """
    places: dict[str, str] = {}
    repeated: list[str] = []
    for item in items:
        _require_unicode(item)
        if item.key in places:
            repeated.append(f"`{item.key}` at {places[item.key]} and {item.place}")
        else:
            places[item.key] = item.place
            if len(places) > MAX_ITEMS:
                raise LlmdoError(f"a batch has at most {MAX_ITEMS:,} items")
            yield item
    if repeated:
        more = f", and {len(repeated) - SHOWN} more" if len(repeated) > SHOWN else ""
        raise LlmdoError(
            f"two items have the same key: {'; '.join(repeated[:SHOWN])}{more}",
            hint="`--key FIELD` names a field that differs",
        )
    if not places:
        raise LlmdoError("there are no inputs")


def _require_unicode(item: NewItem) -> None:
    try:
        f"{item.key}{item.input}{item.title}".encode()
    except UnicodeEncodeError as error:
        raise LlmdoError(f"{item.place}: half of a surrogate pair is not a character") from error


def _opened(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except FileNotFoundError as error:
        raise missing_file(str(path), of="--inputs") from error
    except OSError as error:
        raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error


def _json_lines(file: TextIO, name: str) -> Iterator[tuple[int, Json]]:
    for number, line in enumerate(_lines(file, name), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise LlmdoError(
                    f"{name}:{number}: this line is not JSON: {getattr(error, 'msg', error)}",
                    hint="each line is one input: a JSON string or an object",
                ) from error


def _lines(file: TextIO, name: str) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise LlmdoError(f"`{name}` is not UTF-8 text") from error
    except OSError as error:
        raise LlmdoError(f"cannot read `{name}`: {error.strerror}") from error


def _rows(file: TextIO, name: str) -> Iterator[tuple[int, Json]]:
    rows = csv.DictReader(_lines(file, name), strict=True)
    try:
        fields = rows.fieldnames or ()
        if len(set(fields)) < len(fields):
            raise LlmdoError(f"{name}:1: two columns have one name")
        for row in rows:
            if None in row or None in row.values():
                raise LlmdoError(f"{name}:{rows.line_num}: this row does not have {len(fields)} fields")
            yield rows.line_num, dict(row)
    except csv.Error as error:
        raise LlmdoError(f"{name}:{rows.line_num}: this is not CSV: {error}") from error


def _of_records(records: Iterable[tuple[int, Json]], choice: InputChoice, name: str) -> Iterator[NewItem]:
    for number, record in records:
        place = f"{name}:{number}"
        yield NewItem(
            key=_key(record, choice.key, number, place),
            place=place,
            input=_text(record, choice, place),
            fields=record if isinstance(record, dict) else {},
        )


def _key(record: Json, field: str | None, number: int, place: str) -> str:
    if field is None:
        return str(number)
    if not isinstance(record, dict) or field not in record:
        known = list(record) if isinstance(record, dict) else []
        raise LlmdoError(f"{place}: there is no field `{field}`", hint=did_you_mean(field, known))
    return _as_key(record[field], place)


def _as_key(value: Json, place: str) -> str:
    key = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    if not key.strip() or len(key) > MAX_KEY or not key.isprintable() or isinstance(value, bool):
        raise LlmdoError(f"{place}: a key is a number or a text of at most {MAX_KEY} printable characters")
    return key


def _text(record: Json, choice: InputChoice, place: str) -> str:
    if choice.template is not None:
        return filled(choice.template, record if isinstance(record, dict) else {}, place)
    return record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)


def filled(template: str, fields: Mapping[str, Json], place: str) -> str:
    """`template` with the values of its fields.

    Raises:
        LlmdoError: It names a missing field, or is no template.
    """
    parts = []
    try:
        for text, field, form, conversion in string.Formatter().parse(template):
            parts.append(text)
            if field is None:
                continue
            if form or conversion or field not in fields:
                name = f"{field}{'!' + conversion if conversion else ''}{':' + form if form else ''}"
                raise LlmdoError(
                    f"{place}: there is no field `{name}` for `--input`",
                    hint=did_you_mean(name, list(fields)) or "braces that stand for themselves are doubled",
                )
            value = fields[field]
            parts.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    except ValueError as error:
        raise LlmdoError(
            f"`--input` is not a template: {error}", hint="braces that stand for themselves are doubled"
        ) from error
    return "".join(parts)


def _files(pattern: str) -> list[str]:
    """The files that match a glob or a path, sorted; hidden ones only if the glob says so."""
    if not is_pattern(pattern):
        if Path(pattern).is_dir():
            raise LlmdoError(f"`{pattern}` is a folder", hint=f"name its files: '{pattern.rstrip('/')}/*'")
        return [pattern]
    paths = glob.iglob(pattern, recursive=True)  # noqa: PTH207  # a `Path` takes no `..` and no absolute pattern
    files = sorted(path for path in paths if Path(path).is_file())
    if not files:
        raise LlmdoError(f"`{pattern}` matches no file", hint="its path is relative to this folder")
    return files


def _of_file(path: str, choice: InputChoice) -> NewItem:
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise missing_file(str(path), of="--inputs") from error
    except OSError as error:
        raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise LlmdoError(f"`{path}` is larger than {MAX_FILE_BYTES:,} bytes")
    text = text_of(content)
    fields: dict[str, Json] = {"path": path, "name": Path(path).name, "stem": Path(path).stem}
    if text is not None:
        fields["text"] = text
    if choice.template is not None:
        written: str | None = filled(choice.template, fields, path)
    elif choice.attaches:
        written = None
    elif text is None:
        raise LlmdoError(
            f"`{path}` is not UTF-8 text, and the entry takes no attachments",
            hint="let its worker take some with `attachments`",
        )
    else:
        written = text
    files = ((path, content),) if choice.attaches else ()
    return NewItem(key=_as_key(path, path), place=path, input=written, files=files, fields=fields)
