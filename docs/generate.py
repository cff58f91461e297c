"""Writes the reference pages of this folder from the code: `python docs/generate.py`. A test finds stale ones."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.base import resources
from llmdo.checks import ALL, explanation
from llmdo.foreign.findings import ALL as FOREIGN
from llmdo.policy.protection import CODE_FILES, PROTECTED_FILES, SECRET_FILES
from llmdo.policy.vocabulary import FACTS, OWN
from llmdo.runtime.telemetry import events as telemetry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.checking import Check

FOLDER = Path(__file__).parent
ORGANISATIONS = """
## Of an organisation

A manifest can extend policies of the same format, which hold for all who check and run the workspace:

```toml
[policy]
extends = ["policies/base.toml", "package:acme_policy/base.toml"]
```

A path is a file of the workspace; `package:NAME/PATH` one of the installed package `NAME`, of which nothing is
imported. A policy may extend others, relative to itself. All add up with the person's own and the manifest's rules: the
strictest wins, and they allow nothing.

* `approve-all = false` forbids `--approve-all`, `trust = "required"` requires [trust](trust.md).
* The lock holds each with its rules. A changed one makes it stale, and one of a package
  [lets nothing run](ci.md#when-the-lock-is-written) before `llmdo lock`. One that says less, or is gone, is a widening
  in [`llmdo diff`](ci.md), unless another says as much.
* A policy that is missing, broken or tries to allow something is an error, and nothing runs. No tool changes one
  unasked.
"""
WORKSPACE = """\
```toml
schema = 1

[workspace]
name = "shop"
workers = ["workers/*.worker"]
```

"""
WORKER = """\
```yaml
---
name: clerk
description: Looks after orders.
toolsets: [orders]
---
Find the order that the letter is about.
```

A YAML header between two lines of `---`, then the prompt. Classes of the workspace by their paths:
[runtime.md](runtime.md).
"""
EVENTS = """\
`llmdo run ... --log-events FILE`, `on_event` and `run_stream` ([api.md](api.md#events-as-they-happen)) tell of
everything that happens in the tree of a run, in its order:

```json
{"time": "...", "event": "tool_called", "path": "main/summarizer#2/read_file#1", "tool": "read_file", ...}
```

Every event has its kind and its call path. In the log, known secrets are redacted and bytes are their digest; from
Python events hold everything in full.

## Pieces of answers

Models are asked to stream where somebody listens: `on_event` and `run_stream` (not with `stream=False`),
`--log-events`, `-v`, and for the entry's own worker a terminal as stdout. `text_delta` and `tool_call_delta` tell of
each piece. `model_responded` follows with the whole, which alone is decided on, kept and counted.

* A model that cannot stream is told of in one piece. An answer that the journal has, in a run that goes on or a
  replay, has no pieces.
* `stream_broken` says that the pieces of an answer are void. That was one request, which counts; it is made again like
  any other that failed.
* The end of a piece that may begin a secret is held back in the log and by `-v` until that is certain; of an answer
  that broke off it never comes.

## Kinds

| kind, class in `llmdo.runtime.telemetry.events` | happens when | holds |
| --- | --- | --- |
"""

ALONE = '''
## Without a manifest

Files alone do for a start: a worker in `main.worker`,

```yaml
---
name: main
model: openai:gpt-5-mini
toolsets: [calc]
---
Use a tool for every calculation.
```

and its tools in `tools.py`:

```python
import math

from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()


@calc.tool_plain(metadata={"capabilities": []})  # it touches nothing
def factorial(n: int) -> int:
    """The product of all whole numbers from 1 to n."""
    return math.factorial(n)
```

The only worker, or the one called `main`, is started; `--entry NAME` starts another one:

```console
$ llmdo run main.worker tools.py "What is 7!"
```
'''

MADE = "<!-- Made by docs/generate.py from the code: change it there. -->\n"


def pages() -> dict[str, str]:
    """File name to text of every page that is made from the code."""
    return {
        "manifest.md": MADE
        + "# `llmdo.toml`: every key\n\n"
        + WORKSPACE
        + "Names are keys, so nothing can be declared twice. Unknown keys are errors. Arrays replace, never add. "
        + "`llmdo schema manifest` prints the JSON Schema.\n"
        + reference("manifest", "[", other="worker"),
        "worker.md": MADE + "# A worker file: every key\n\n" + WORKER + reference("worker", "") + ALONE,
        "policy.md": MADE
        + "# What does a policy forbid on a machine?\n\nWhat `policy.toml`, a person's own file, blocks or asks "
        + "about, in every run ([an example](approvals.md#your-own-policy)):\n`$XDG_CONFIG_HOME/llmdo/policy.toml`, or "
        + "`~/.config/llmdo/policy.toml`; on macOS in `~/Library/Application Support`, on Windows in `%APPDATA%`.\n"
        + reference("policy", "[")
        + ORGANISATIONS,
        "eval-file.md": MADE
        + "# `evals/NAME.yaml`: every key\n\n[eval.md](eval.md) has an example. Unknown keys are errors.\n"
        + reference("eval", ""),
        "checks.md": MADE
        + "# Which findings are there?\n\n`llmdo explain CODE` says what each means, what fails and what mends it.\n"
        + findings("Of a workspace", ALL)
        + findings("Of projects of other tools", FOREIGN),
        "events.md": MADE + "# Which events does a run tell?\n\n" + EVENTS + events(),
        "vocabulary.md": MADE
        + "# Which capabilities are there?\n\n"
        + vocabulary()
        + secret_files()
        + written_files(),
    }


def reference(name: str, bracket: str, other: str = "") -> str:
    """The tables of a format with their keys; one that stands in the page of `other` as well is linked."""
    there = {rows: ", ".join(titles) for rows, titles in sections(other, "").items()} if other else {}
    tables, links = [], []
    for rows, titles in sections(name, bracket).items():
        title = ", ".join(titles)
        if rows in there:
            anchor = re.sub(r"[`.,]", "", there[rows]).replace(" ", "-")
            links.append(f"* {title}: [{there[rows]}]({other}.md#{anchor})\n")
        else:
            tables.append(f"\n## {title}\n\n{rows}")
    head = "\n## Tables that a worker file has too\n\n"
    return "".join(tables) + (head + "".join(links)) * bool(links)


def sections(name: str, bracket: str) -> dict[str, list[str]]:
    """The rows of each table of a format, with the titles of all tables that have these rows."""
    schema = json.loads(resources.read("schemas", f"{name}.json"))
    titles: dict[str, list[str]] = {}
    table(schema, schema, "", bracket, titles)
    return titles


def table(
    schema: dict[str, Any], part: dict[str, Any], at: str, bracket: str, titles: dict[str, list[str]]
) -> None:
    """Adds the title of one table of the format to those with its rows, and then the tables below it."""
    required = part.get("required", [])
    rows = []
    below = []
    for key, value in part.get("properties", {}).items():
        value, description = resolved(schema, value)
        mark = " (required)" if key in required else ""
        rows.append(f"* `{key}`{mark}, {kind(value)}: {description}\n")
        if value.get("properties"):
            below.append((value, f"{at}.{key}" if at else key, False))
        others, _ = resolved(schema, value.get("additionalProperties") or {})
        if others.get("properties"):
            below.append((others, f"{at}.{key}" if at else key, True))
        items, _ = resolved(schema, value.get("items") or {})
        if items.get("properties"):
            below.append((items, f"{at}.{key}" if at else key, False))
    title = f"`[{at}]`" if at and bracket else f"`{at}`" if at else "Top level"
    titles.setdefault("".join(rows), []).append(title)
    for inner, name, named in below:
        table(schema, inner, f"{name}.NAME" if named else name, bracket, titles)


def resolved(schema: dict[str, Any], value: object) -> tuple[dict[str, Any], str]:
    """A part of a schema with its references followed, and its description."""
    if not isinstance(value, dict):
        return {}, ""
    description = value.get("description", "")
    for inner in value.get("allOf", []):
        value = {**inner, **value}
    while "$ref" in value:
        target = schema["definitions"][value["$ref"].rpartition("/")[2]]
        value = {**target, **{key: part for key, part in value.items() if key != "$ref"}}
    return value, description


def kind(value: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "enum" in value:
        return "/".join(f"`{word}`" for word in value["enum"])
    words = {
        "string": "text", "integer": "integer", "number": "number", "boolean": "true/false",
        "array": "list", "object": "table",
    }  # fmt: skip
    if not value:
        return "anything"
    kinds = value.get("type", "object")
    named = [kinds] if isinstance(kinds, str) else kinds
    return "/".join(words[kind] for kind in named if kind != "null")


def findings(title: str, checks: Iterable[Check[Any]]) -> str:
    """A table of the findings of checks, each with the first paragraph of its explanation."""
    rows = []
    for check in checks:
        head, meaning, *_ = (explanation(check.code) or "").split("\n\n")
        anchor = re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-")
        code, name, severity = head.split()
        meaning = " ".join(meaning.split()).replace("|", "\\|")
        rows.append(f'| <a id="{anchor}"></a>`{code}` {name} | {severity.strip("()")} | {meaning} |\n')
    return f"\n## {title}\n\n| finding | | what it says |\n| --- | --- | --- |\n{''.join(rows)}"


def events() -> str:
    """A row for each kind of event."""
    rows = []
    for shape in ast.parse(inspect.getsource(telemetry)).body:
        kind = getattr(getattr(telemetry, getattr(shape, "name", ""), None), "kind", None)
        if not isinstance(shape, ast.ClassDef) or not isinstance(kind, str):
            continue
        fields = (
            f"`{name}` ({meaning.removesuffix('.')})" if meaning else f"`{name}`"
            for name, meaning in stated(shape).items()
            if name != "kind"
        )
        meaning = (ast.get_docstring(shape) or "").replace("\n", " ")
        rows.append(f"| `{kind}`, `{shape.name}` | {meaning} | {', '.join(fields)} |\n")
    return "".join(rows)


def stated(shape: ast.ClassDef) -> dict[str, str]:
    """The fields of a class, each with the docstring that follows it."""
    meanings: dict[str, str] = {}
    name = ""
    for part in shape.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            name = part.target.id
            meanings[name] = ""
        elif name and isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
            meanings[name] = inspect.cleandoc(str(part.value.value)).replace("\n", " ")
    return meanings


def vocabulary() -> str:
    """The capabilities and what is built in about them."""
    rows = []
    for name, facts in FACTS.items():
        own = (
            "`x.TOOLSET.NAME`",
            "does what a project's own toolset calls so; `x.TOOLSET.any` where it declares nothing",
        )
        written, meaning = own if name == OWN else (f"`{name}`", facts.meaning)
        notes = [f"`{facts.decision}`" if facts.decision else "the default"]
        notes += ["asked at a terminal only"] * facts.is_for_a_terminal
        notes += ["needs no place in a ceiling"] * facts.is_outside_ceilings
        rows.append(f"| {written} | {meaning} | {', '.join(notes)} | {facts.leg or ''} |\n")
    return (
        "These, the worst first, with the decision that is built in. The last column says which of the three that "
        "must not meet one brings ([flow.md](flow.md)).\n\n"
        "| capability | a call that raises it | built in | brings |\n| --- | --- | --- | --- |\n"
        + "".join(rows)
    )


def secret_files() -> str:
    """The names that make a read one of `fs.read.protected`."""
    return (
        "\n## Files that mostly hold secrets\n\n"
        "Reading a file of such a name, or one in a folder of such a name, raises `fs.read.protected`. `*` stands for "
        "any part of a name; case does not matter.\n\n"
        + ", ".join(f"`{name}`" for name in sorted(SECRET_FILES))
        + "\n"
    )


def written_files() -> str:
    """The names that make a write one of `fs.write.protected` or `fs.write.code`."""
    return (
        "\n## Files that govern runs\n\n"
        "Writing, deleting or renaming one raises `fs.write.protected`, by the same comparison; so does what the "
        "inventory of the workspace names.\n\n"
        + ", ".join(f"`{name}`" for name in sorted(PROTECTED_FILES))
        + "\n\n## Files that are executed\n\nWriting, deleting or renaming one raises `fs.write.code`.\n\n"
        + ", ".join(f"`{name}`" for name in sorted(CODE_FILES))
        + "\n"
    )


if __name__ == "__main__":
    for page, text in pages().items():
        (FOLDER / page).write_text(text, encoding="utf-8", newline="\n")
