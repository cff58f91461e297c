"""PyYAML with libyaml and without it (Pyodide, some platforms): the same data, the same problems, the same places."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import yaml

from llmdo.base.source import Source
from llmdo.syntax.header import parse

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "foreign" / "cases"

WITHOUT_LIBYAML = """
import json, sys
sys.modules["yaml._yaml"] = None
import yaml
assert not yaml.__with_libyaml__
from tests.syntax.test_loaders import read
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
"""

ESCAPES = [
    *(f"\\{character}" for character in "0abtnvfreNLP_ /\\\"\tzqxuU|w.'1%"),
    *("\\x1", "\\x1f", "\\xg1", "\\u12", "\\u00e9", "\\ud800", "\\uDFFFa", "\\ud83d\\ude00", "\\ue000"),
    *(
        "\\U00110000",
        "\\U0010ffff",
        "\\U0000d800",
        "\\U0000e000",
        "\\U0001f600",
        "\\U01000000",
        "\\Ufffffffff",
    ),
]
MARKS = [
    '"',
    "'",
    "[",
    "]",
    "{",
    "}",
    ": ",
    "- ",
    "#",
    "\n",
    " ",
    "@",
    "`",
    "&a ",
    "*a",
    "|",
    ">",
    "%",
    "\t",
    ",",
]


def read(text: str) -> object:
    """The data and the problems of a header, as JSON; how much of a refused one was read differs."""
    document = parse(Source("a.md", f"---\n{text}---\n"), text)
    problems = [(each.code, str(each.at), each.message, each.hint) for each in document.problems]
    return json.loads(json.dumps(problems or document.data))


BASES = [
    "name: clerk\ndescription: Keeps the log of the harbour.\ntools: Read, Grep\nmodel: small\n",
    "name: 'clerk'\ndescription: \"Keeps, reads; and sends: all.\"\ntools:\n  - Read\n  - Bash(ls *)\n",
    "description: |\n  Keeps the log,\n  and reads it.\ntools: [Read, 'Web Fetch', \"mcp__log\"]\n",
    "mode: primary\npermission:\n  bash:\n    ls *: allow\n    '*': deny\n  webfetch: deny # no pages\n",
    "on:\n  issues: {types: [opened, edited]}\nhandoffs:\n  - {label: Plan, agent: planner, prompt: Plan it}\n",
]
"""Headers into which marks and escapes are put by chance."""


def headers() -> list[str]:
    """The headers of the cases; some with a mark or an escape put in by chance; and every escape alone."""
    chance = Random(35)
    texts = [f'a: "{before}{escape}"\n' for escape in ESCAPES for before in ("", "b\\\\", "\\n\n  c", "'d' ")]
    for path in sorted(CASES.glob("*/*/**/*.md")):
        head, line, rest = path.read_text(encoding="utf-8", errors="replace").partition("---\n")
        text, end, _ = rest.partition("\n---\n")
        if line and end and not head:
            texts.append(f"{text}\n")
    for text in BASES * 60:
        put, at = chance.choice([*MARKS, *ESCAPES]), chance.randrange(len(text))
        texts.append(f"{text[:at]}{put}{text[at:]}")
    return texts


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_a_header_reads_the_same_without_libyaml() -> None:
    texts = headers()
    assert len(texts) > 400
    words = [sys.executable, "-c", WITHOUT_LIBYAML]
    done = subprocess.run(
        words, cwd=ROOT, input=json.dumps(texts), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    without = json.loads(done.stdout)
    differ = [
        (text, here, there)
        for text, here, there in zip(texts, map(read, texts), without, strict=True)
        if here != there
    ]
    assert differ == []
