"""Headers that Claude Code 2.1.328 was seen to read or to ignore, by the agents that its request lists."""

from __future__ import annotations

import pytest

from llmdo.base.source import Source
from llmdo.features.claude.headers import ignored

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


@pytest.mark.parametrize("header", IGNORED)
def test_a_header_is_ignored_that_is_no_yaml_then(header: str) -> None:
    assert ignored(Source("clerk.md", f"---\nname: clerk\n{header}\n---\nx\n")) is not None
