"""Headers that Claude Code 2.1.328 was seen to read or to ignore, by the agents that its request lists."""

from __future__ import annotations

import pytest

from llmdo.base.source import Source
from llmdo.features.claude.headers import ignored
from llmdo.syntax.discovery import decode

READ = [
    "description: Use it: when needed: now",
    "description: Use it: now\ntools: [Read, Grep]",
    "description: Use it.\ntools: [Read, Grep",
    "description: x\ntools: *",
    'description: Looks: "TODO\\|FIXME"',
    "description: x\nname: again",
    "description: Use it: now # note\ntools: Read # two\nmodel : haiku",
]
IGNORED = [
    'description: "A" then b',
    "description: Use it.\n<example>\nuser: hello\n</example>",
    "description: |\n  Fine: text\n bad",
    "description: Use 'it': now\n\n  more text here: yes",
    'description: "no end',
    "description: @x\ntools:\n  - Read\n  - Bash(ls: *)\n  - @y",
    'description: Use it: now\ntools: "Read", "Grep"',
    'description: "Looks TODO\\|FIXME"',
    "description: Use it: now\n\ttools: Read",
    "description: x\n\ttools: Read",
    " description: x",
    "description: x:\n- user: hi\n  reply: yes",
    "description: it says: hi\n- user: hi",
]


@pytest.mark.parametrize("header", READ)
def test_a_header_is_read_that_is_yaml_with_its_lines_in_quotes(header: str) -> None:
    assert ignored(Source("clerk.md", f"---\nname: clerk\n{header}\n---\nx\n")) is None


@pytest.mark.parametrize(
    ("header", "is_read"),
    [
        ("description: Use it now\r\ntools: Read\r", True),
        ("description: 'Use it: now'\r\ntools: Read\r", True),
        ("description: Use it: now\r\ntools: Read\r", False),
        ("description: Use it: now\r\ntools: Read", False),
        ("description: Use it: now\ntools: Read\r", True),
        ("description: x\r\ntools: *\r", False),
    ],
)
def test_a_line_that_ends_with_crlf_gets_no_quotes(header: str, is_read: bool) -> None:
    source, _ = decode("clerk.md", f"---\nname: clerk\n{header}\n---\nx\n".encode())
    assert (ignored(source) is None) is is_read


@pytest.mark.parametrize("header", IGNORED)
def test_a_header_is_ignored_that_is_no_yaml_then(header: str) -> None:
    assert ignored(Source("clerk.md", f"---\nname: clerk\n{header}\n---\nx\n")) is not None
