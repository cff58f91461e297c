"""Which inline commands of hooks surely do nothing but warn."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from llmdo.foreign.warning import only_warns

WARNS = [
    "echo 'Mind the quay: $FILE'",
    'jq -r \'.tool_input.command\' | { read cmd; if echo "$cmd" | grep -q \'rm.*-rf\'; then echo "CAUTION!"; echo "Look at $cmd"; fi; }',
    "if [ -f a ] && grep -qi x a 2>/dev/null; then echo \"\\n  low tide\"; elif true; then printf 'high'; else :; fi",
    "cat | read -r x; echo done >&2",
    "if grep x a >/dev/null 2>&1\nthen\n  echo x\nfi",
]
MAY_REFUSE = [
    "",
    'echo \'{"decision": "block"}\'',
    'echo " {}"',
    'echo "\\n{}"',
    'echo "$x"',
    "echo $x",
    "echo",
    "printf '%s' a",
    "echo x; exit 2",
    "echo x; grep -q y z",
    "[ -f a ] && echo x",
    "if true; then exit 2; fi",
    "if true; then echo x; else node a.js; fi",
    "if grep x a; then echo x; fi",
    "if grep -eq a; then echo x; fi",
    "if true; then; fi",
    "if true; then echo x; fi echo",
    "if true; then echo x",
    "if true; then fi",
    "{ echo x }",
    "{ }",
    "echo x | fi",
    "echo x;; echo y",
    "echo x |",
    "echo x | cat",
    "echo $(guard)",
    "echo `guard`",
    'echo "${x:?}"',
    "echo x > /dev/stdout",
    "echo x & guard",
    "if true; then echo x; fi | guard",
    "read -u 9 x",
    "guard",
    "fi",
]


@pytest.mark.parametrize("command", WARNS)
def test_a_command_that_prints_words_alone_warns(command: str) -> None:
    assert only_warns(command)


@pytest.mark.parametrize("command", MAY_REFUSE)
def test_what_may_print_json_or_end_otherwise_does_not(command: str) -> None:
    assert not only_warns(command)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("command", WARNS)
def test_a_shell_ends_it_well(command: str) -> None:
    given = '{"tool_input": {"command": "rm -rf quay"}}'
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=False)
    assert done.returncode != 2
    assert not done.stdout.lstrip().startswith("{")
