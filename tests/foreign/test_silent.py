"""Which inline commands of hooks surely refuse nothing."""

from __future__ import annotations

import pytest

from llmdo.foreign.silent import answers_nothing


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "echo x >> f",
        "echo x>>f || true",
        "echo x >&2",
        'echo "$(date) a call" >> log.txt 2>&1',
        "echo $(date): $TOOL >> ~/.log;",
        'echo "; exit 2" >> f',
        "mkdir -p log && echo x >> log/a",
        "jq -r '\"\\(.tool_input.command) # {}\"' >> ~/log.txt",
        "cat | grep x >> log || true",
        "grep x f > /dev/null; true",
    ],
)
def test_a_command_that_only_writes_a_line_is_silent(command: str) -> None:
    assert answers_nothing(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "echo x",
        "echo x 2> f",
        "echo x 2>> f 2>&1",
        'echo ">" f',
        "echo x > /dev/stdout",
        'echo x > "/dev/fd/1"',
        "date | tee -a f",
        "exit 2",
        "echo x >> f; exit 2",
        "echo x >> f && exit 2",
        "echo x >> f & exit 2",
        "echo x >> f\nexit 2",
        "grep x f >> g",
        "grep x f >> g || false",
        "[ -f x ] && exit 2",
        "jq 'halt_error(2)' >> f",
        "(exit 2)",
        "eval x >> f || true",
        "scripts/guard.sh >> f || true",
        "bash 'guard.sh' >> f || true",
        'echo "$(x " >> f ")"',
        "echo `x` >> f",
        "echo 'x >> f",
        "X=1 jq . >> f || true",
        "|| true",
        "true ||",
        "| true",
        "cat <<E >> f",
    ],
)
def test_what_may_print_or_end_with_a_number_is_not(command: str) -> None:
    assert not answers_nothing(command)


def test_a_long_command_is_not_read() -> None:
    assert not answers_nothing(f"echo {'x' * 2_000} >> f")
