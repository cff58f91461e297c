"""A line is split exactly as bash splits it, or refused."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmdo.policy.shell.words import CommandRefused, program_of, words
from tests.support.laws import examples, share

BASH = shutil.which("bash")
MARK = "<line>"

PLAIN = [
    *"abz019._-+=:,/@%^!#]~é", " ", "  ", "\t", "{}", "\\ ", "\\$", "\\'", "'a b'", '"a b"', '"\\$"', '"\\q"', "''", '""', "--x=",
    "a=", "if", "time", "'$x'", "'*'", "\\~", "~a", "#a",
]  # fmt: skip
SYNTAX = [
    "'",
    '"',
    "\\",
    "{",
    "}",
    "$",
    "`",
    "*",
    "?",
    "[",
    "|",
    "&",
    ";",
    "<",
    ">",
    "(",
    ")",
    "\n",
    "\r",
    "\u00a0",
    "a=~",
]

lines = st.lists(st.sampled_from([*PLAIN * 4, *SYNTAX]), max_size=12).map("".join)


def accepted(line: str) -> tuple[str, ...] | None:
    try:
        return words(line)
    except CommandRefused:
        return None


def by_bash(commands: list[str]) -> list[tuple[str, ...]]:
    """The words that bash passes on for each line; all in one script, since the lines are simple by what we claim."""
    script = "\n".join(f"printf '%s\\0' '{MARK}' {line}" for line in commands)
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", script],
        capture_output=True,
        env={"HOME": "/home/somebody", "LC_ALL": "C.UTF-8", "PATH": "/nowhere"},
        check=True,
        timeout=20,
    )
    assert not done.stderr
    outputs: list[list[str]] = []
    for word in done.stdout.decode().split("\0")[:-1]:
        if word == MARK:
            outputs.append([])
        else:
            outputs[-1].append(word)
    return [tuple(output) for output in outputs]


def compare(commands: list[str]) -> None:
    taken = [line for line in commands if accepted(line) is not None]
    assert by_bash(taken) == [accepted(line) for line in taken]


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(lines, min_size=10, max_size=40))
def test_the_words_of_an_accepted_line_are_those_of_bash(commands: list[str]) -> None:
    compare(commands)


@pytest.mark.long
@pytest.mark.skipif(BASH is None, reason="there is no bash")
@settings(max_examples=share(1200), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(lines, min_size=30, max_size=60))
def test_the_words_of_thousands_of_accepted_lines_are_those_of_bash(commands: list[str]) -> None:
    compare(commands)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git log -n 5", ("git", "log", "-n", "5")),
        ("  ls\t-la  ", ("ls", "-la")),
        ("grep 'a|b;c' x", ("grep", "a|b;c", "x")),
        (r"grep a\|b 'c d'\''e'", ("grep", "a|b", "c d'e")),
        (r'echo "a\$b\q"', ("echo", r"a$b\q")),
        ("find . -name '*.py'", ("find", ".", "-name", "*.py")),
        ("a '' b", ("a", "", "b")),
        ("x{}y", ("x{}y",)),
        ("a#b c~d", ("a#b", "c~d")),
        ("", ()),
    ],
)
def test_a_plain_line_becomes_its_words(line: str, expected: tuple[str, ...]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ls | wc", "no pipes"),
        ("ls; ls", "one call for each"),
        ("ls && ls", "one call for each"),
        ("ls > x", "tool that writes files"),
        ("cat < x", "argument of the program"),
        ("echo $HOME", "write the value itself"),
        ('echo "$(id)"', "write the value itself"),
        ("ls *.py", "list the files first"),
        ("ls {a,b}", "write every word"),
        ("cat ~/x", "relative to the workspace"),
        ("x a=~", "relative to the workspace"),
        ("ls # note", "leave the comment out"),
        ("cat 'x", "close the quote"),
        ("ls \\", "end the line with a word"),
        ("ls\nrm x", "one call for each"),
        ("ls\u00a0x", "leave it out"),
        ("\u202els", "leave it out"),
        ("x" * 9000, "write a file"),
    ],
)
def test_shell_syntax_is_refused_with_what_to_do_instead(line: str, message: str) -> None:
    with pytest.raises(CommandRefused, match=message):
        words(line)


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("",),
        ("/bin/ls",),
        ("./ls",),
        ("a/b",),
        ("A=1", "ls"),
        ("-x",),
        ("lś",),
        ("l\0s",),
        ("ls", "a\0"),
        ("ls", "\ud800"),
    ],
)
def test_what_names_no_program_is_refused(command: tuple[str, ...]) -> None:
    with pytest.raises(CommandRefused):
        program_of(command)
