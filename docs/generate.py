"""Writes the reference pages of this folder from the code: `python docs/generate.py`. A test finds stale ones."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.base import resources
from llmdo.checks import ALL, explanation
from llmdo.foreign.findings import ALL as FOREIGN
from llmdo.policy.protection import CODE_FILES, PROTECTED_FILES, SECRET_FILES
from llmdo.policy.vocabulary import FACTS, OWN
from llmdo.runtime.telemetry import events as telemetry

if TYPE_CHECKING:
    from llmdo.base.checking import Check

FOLDER = Path(__file__).parent
ORGANISATIONS = """
## Of an organisation

A manifest can extend policies of the same format, so that what an organisation forbids holds for all who check and
run the workspace:

```toml
[policy]
extends = ["policies/base.toml", "package:acme_policy/base.toml"]
```

A path is that of a file in the workspace. `package:NAME/PATH` is a file of the installed package `NAME`, which is
found by the metadata of what is installed, without anything of it being imported; a folder of the workspace, or of
the current folder, that has this name is none. A policy may itself
extend others by `extends`, relative to its own file. All of them add up, with the person's own and with the rules of
the manifest: the strictest wins, and as they hold no `allowed`, they only tighten.

* The same evaluator decides for `check`, `reach` and `run`; a reason names the rule with the file and the line of the
  policy.
* One of a package that the lock does not hold as it is lets nothing run before `llmdo lock`
  [took it in](ci.md#when-the-lock-is-written).
* `approve-all = false` forbids `--approve-all` for the workspace, `trust = "required"` requires [trust](trust.md).
* The lock holds each policy, its digest and its rules. A policy that changed makes the lock stale. In [`llmdo
  diff`](ci.md) one that says less, or is gone, is a widening, unless another one says as much; an acceptance of the
  capability accepts it.
* A policy that is missing, outside of the workspace, broken, extends itself or tries to allow something is an error
  with its place, and nothing runs.
* Tools cannot change a policy in the workspace without a person's approval, as any file that governs a run.
"""
EVENTS = """\
`on_event`, `run_stream` ([api.md](api.md#events-as-they-happen)) and `--log-events` tell of everything that happens in
the tree of a run, in its order. Every event has its `kind` and its `path`, the call path: `main`, `main/summarizer#2`,
`main/summarizer#2/read_file#1`. A line of the log is a JSON object with the `time`, the kind as `event`, the path, and
what the event says; known secrets are redacted in it, and bytes are their digest. From Python events hold everything in
full.

## Answers as they arrive

Where somebody listens, models are asked to stream, and `text_delta` and `tool_call_delta` tell of each piece when it
arrives. `model_responded` follows with the whole, which counts: what is decided on, kept in the journal and taken from
the budgets is never a piece.

* Somebody listens: `on_event` and `run_stream` in Python (`stream=False` leaves it), `--log-events` and `-v`; a
  terminal as stdout listens to the entry's own worker.
* A model that cannot stream is told of in one piece.
* An answer that the journal has, in a run that goes on and in a replay, has no pieces: nothing arrives. It has its
  `model_responded`, like every answer.
* `stream_broken` says that an answer broke off, and that its pieces are void. That was one request: it counts, the
  journal has it as an attempt, and it is made again as any other that failed (`model_failed` says when), perhaps to the
  next model of a chain.
* In the log, and in what `-v` shows, a secret that two pieces share is redacted as well. The end of a piece that may be
  its beginning is held back until it is certain: mostly the last word. The rest comes before `model_responded`; of an
  answer that broke off it never comes.
"""

MADE = "<!-- Made by docs/generate.py from the code: change it there. -->\n"


def pages() -> dict[str, str]:
    """File name to text of every page that is made from the code."""
    return {
        "manifest.md": MADE
        + "# `llmdo.toml`\n\n"
        + "Names are keys, so nothing can be declared twice. Unknown keys are errors. Arrays replace, never add.\n"
        + reference("manifest", "["),
        "worker.md": MADE
        + "# A worker file\n\nA YAML header between two lines of `---`, then the prompt. `toolsets` is a mapping from "
        + "name to configuration or, with nothing to configure, a list of names.\nA class of the workspace may go by "
        + "its path, `tools/calc.py:Calculator` or `tools.calc.Calculator`, without a line in the manifest "
        + "([runtime.md](runtime.md)).\n"
        + reference("worker", ""),
        "policy.md": MADE
        + "# `policy.toml`\n\nA person's own file, which tightens every run on their machine: "
        + "`$XDG_CONFIG_HOME/llmdo/policy.toml`, or\n"
        + "`~/.config/llmdo/policy.toml`; on macOS in `~/Library/Application Support`, on Windows in `%APPDATA%`.\n"
        + "[approvals.md](approvals.md) says what it is for.\n"
        + reference("policy", "[")
        + ORGANISATIONS,
        "eval-file.md": MADE
        + "# `evals/NAME.yaml`\n\nThe keys of an eval, which [eval.md](eval.md) describes. Unknown keys are errors.\n"
        + reference("eval", ""),
        "checks.md": MADE + "# Checks\n" + "".join(map(finding, (*ALL, *FOREIGN))),
        "events.md": MADE + "# Events of a run\n\n" + EVENTS + events(),
        "vocabulary.md": MADE + "# Capabilities\n\n" + vocabulary() + secret_files() + written_files(),
    }


def reference(name: str, bracket: str) -> str:
    """The keys of a format, a table each."""
    schema = json.loads(resources.read("schemas", f"{name}.json"))
    sections: list[str] = []
    table(schema, schema, "", bracket, sections)
    return "".join(sections)


def table(schema: dict[str, Any], part: dict[str, Any], at: str, bracket: str, sections: list[str]) -> None:
    """Adds a section for one table of the format, and for those below it."""
    required = part.get("required", [])
    rows = []
    below = []
    for key, value in part.get("properties", {}).items():
        value, description = resolved(schema, value)
        mark = " (required)" if key in required else ""
        rows.append(f"| `{key}` | {kind(value)} | {description}{mark} |\n")
        if "properties" in value:
            below.append((value, f"{at}.{key}" if at else key, False))
        others, _ = resolved(schema, value.get("additionalProperties") or {})
        if "properties" in others:
            below.append((others, f"{at}.{key}" if at else key, True))
        items, _ = resolved(schema, value.get("items") or {})
        if "properties" in items:
            below.append((items, f"{at}.{key}" if at else key, False))
    title = f"`[{at}]`" if at and bracket else f"`{at}`" if at else "Top level"
    sections.append(f"\n## {title}\n\n| key | value | what it says |\n| --- | --- | --- |\n{''.join(rows)}")
    for inner, name, named in below:
        table(schema, inner, f"{name}.NAME" if named else name, bracket, sections)


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
        return ", ".join(f"`{word}`" for word in value["enum"])
    words = {
        "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
        "array": "list", "object": "table",
    }  # fmt: skip
    if not value:
        return "anything"
    kinds = value.get("type", "object")
    named = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(words[kind] for kind in named if kind != "null")


def finding(check: Check[Any]) -> str:
    """A section about the finding of a check."""
    head, _, body = (explanation(check.code) or "").partition("\n\n")
    return f"\n## {head}\n\n{body}"


def events() -> str:
    """The kinds of events, each with what it says."""
    sections = []
    for shape in ast.parse(inspect.getsource(telemetry)).body:
        kind = getattr(getattr(telemetry, getattr(shape, "name", ""), None), "kind", None)
        if not isinstance(shape, ast.ClassDef) or not isinstance(kind, str):
            continue
        rows = [f"| `{name}` | {meaning} |\n" for name, meaning in stated(shape).items() if name != "kind"]
        table = "\n| it says | |\n| --- | --- |\n" + "".join(rows)
        sections.append(f"\n## `{kind}`\n\n`{shape.name}`: {ast.get_docstring(shape)}\n{table * bool(rows)}")
    return "".join(sections)


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
        "The gravest come first. The last column says which of the three that must not meet a capability brings\n"
        "([flow.md](flow.md)).\n\n"
        "| capability | a call that raises it | built in | brings |\n| --- | --- | --- | --- |\n"
        + "".join(rows)
    )


def secret_files() -> str:
    """The names that make a read one of `fs.read.protected`."""
    return (
        "\n## Files that mostly hold secrets\n\n"
        "Reading a file of such a name, or one in a folder of such a name, anywhere in the workspace, raises "
        "`fs.read.protected`.\n`*` stands for any part of a name. Names are compared without case.\n\n"
        + "\n".join(f"* `{name}`" for name in sorted(SECRET_FILES))
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
