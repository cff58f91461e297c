"""Writes the reference pages of this folder from the code: `python docs/generate.py`. A test finds stale ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llmdo.base import resources
from llmdo.base.diagnostic import CODES
from llmdo.checks import ALL, explanation, name_of
from llmdo.foreign.findings import ALL as FOREIGN
from llmdo.policy.authority import BUILT_IN, OUTSIDE_CEILINGS, TERMINAL_ONLY, VOCABULARY
from llmdo.policy.secret_files import SECRET_FILES

FOLDER = Path(__file__).parent
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
        + "name to configuration or, with nothing to configure, a list of names.\n"
        + reference("worker", ""),
        "policy.md": MADE
        + "# `policy.toml`\n\nA person's own file, which tightens every run on their machine: "
        + "`$XDG_CONFIG_HOME/llmdo/policy.toml`, or\n"
        + "`~/.config/llmdo/policy.toml`; on macOS in `~/Library/Application Support`, on Windows in `%APPDATA%`.\n"
        + "[approvals.md](approvals.md) says what it is for.\n"
        + reference("policy", "["),
        "checks.md": MADE + "# Checks\n" + "".join(map(check, (*ALL, *FOREIGN))),
        "vocabulary.md": MADE + "# Capabilities\n\n" + vocabulary() + secret_files(),
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
        value = {**target, **{key: one for key, one in value.items() if key != "$ref"}}
    return value, description


def kind(value: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    words = {
        "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
        "array": "list", "object": "table",
    }  # fmt: skip
    kinds = value.get("type", "object")
    return " or ".join(words[one] for one in ([kinds] if isinstance(kinds, str) else kinds))


def check(one: Any) -> str:
    """A section about one check."""
    name = name_of(one)
    code = next(code for code, (known, _) in CODES.items() if known == name)
    head, _, body = (explanation(code) or "").partition("\n\n")
    return f"\n## {head}\n\n{body}"


def vocabulary() -> str:
    """The capabilities and what is built in about them."""
    built_in = {rule.capability.name: rule.decision for rule in BUILT_IN}
    rows = []
    for name, meaning in VOCABULARY.items():
        notes = [f"`{built_in[name]}`"] if name in built_in else ["the default"]
        notes += ["asked at a terminal only"] * (name in TERMINAL_ONLY)
        notes += ["needs no place in a ceiling"] * (name in OUTSIDE_CEILINGS)
        rows.append(f"| `{name}` | {meaning} | {', '.join(notes)} |\n")
    return (
        "| capability | a call that raises it | built in |\n| --- | --- | --- |\n"
        + "".join(rows)
        + "| `x.TOOLSET.NAME` | does what the project's own toolset calls so; `x.TOOLSET.any` where it declares "
        + "nothing | the default |\n"
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


if __name__ == "__main__":
    for page, text in pages().items():
        (FOLDER / page).write_text(text, encoding="utf-8", newline="\n")
