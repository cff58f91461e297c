"""What a shell rule vouches for, and what a command raises under it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.authority import Capability
from llmdo.shell import ShellRule, ShellSettings, Vouching, parse_rules
from llmdo.shell.presets import PRESETS
from llmdo.shell.rules import breaks_example, parse_rule, scope_in_text

EXAMPLES = [
    pytest.param(parse_rule(table), command, wanted, id=f"{name}: {' '.join(command)}")
    for name, tables in PRESETS.items()
    for table in tables
    for key, wanted in (("match", True), ("not-match", False))
    for command in table[key]
]

SETTINGS = ShellSettings(
    rules=parse_rules(
        {
            "presets": ["read-only", "git-read"],
            "rules": [
                {"run": ["mkdir"], "flags": ["-p"], "positional": "paths"},
                {"run": ["make", "test"]},
                {"run": ["python", "tools/report.py"], "positional": "paths", "capability": "proc.exec.read"},
                {"run": ["env"], "positional": "any"},
                {"run": ["node"], "flags": ["-e="]},
            ],
        }
    )
)


def raised(
    line: str, settings: ShellSettings = SETTINGS, *, isolated: bool = True, **config: object
) -> set[str]:
    vouching = Vouching.of(settings, config)
    return {str(one) for one in vouching.raised(line.split(), scope_in_text, isolated=isolated)}


@pytest.mark.parametrize(("rule", "command", "wanted"), EXAMPLES)
def test_a_preset_does_what_its_examples_say(rule: ShellRule, command: list[str], wanted: bool) -> None:
    assert breaks_example(rule, command) is not wanted


def test_every_preset_rule_has_examples_of_both_kinds() -> None:
    assert all(table["match"] and table["not-match"] for tables in PRESETS.values() for table in tables)


def test_a_reading_command_raises_the_reading_of_its_paths() -> None:
    assert raised("cat src/a.py b") == {"proc.exec.read", "fs.read:src/a.py/**", "fs.read:b/**"}


def test_a_reading_command_without_a_path_reads_the_workspace() -> None:
    assert raised("ls") == {"proc.exec.read", "fs.read:**"}


def test_another_command_raises_reading_and_writing_of_its_paths() -> None:
    assert raised("mkdir -p out/x") == {"proc.exec", "fs.read:out/x/**", "fs.write:out/x/**"}


def test_a_listed_program_with_other_arguments_is_unvouched_and_any_other_unlisted() -> None:
    assert raised("make install") == {"proc.exec.unvouched"}
    assert raised("rm x") == {"proc.exec.unlisted"}


@pytest.mark.parametrize(
    "line", ["git -C . push", "git --no-pager log", "git -c a=b log", "git --git-dir=x log", "git"]
)
def test_global_options_of_git_hide_no_subcommand(line: str) -> None:
    assert raised(line) == {"proc.exec.unvouched"}


def test_git_only_reads_where_it_is_isolated() -> None:
    assert "proc.exec.read" in raised("git log")
    assert raised("git log", isolated=False) == {"proc.exec", "fs.read:**"}


def test_a_launcher_never_only_reads() -> None:
    assert raised("python tools/report.py a") == {"proc.exec", "fs.read:a/**", "fs.write:a/**"}


@pytest.mark.parametrize("line", ["env ls", "env", "node -e 1", "node -e1"])
def test_an_open_rule_for_a_launcher_vouches_for_nothing(line: str) -> None:
    assert raised(line) == {"proc.exec.unvouched"}


@pytest.mark.parametrize("program", ["python3.12", "gcc-13", "bash", "ruby3.1", "busybox", "xargs"])
def test_a_versioned_interpreter_is_one(program: str) -> None:
    assert ShellRule(run=(program,), positional="any").is_open_launcher


@pytest.mark.parametrize(
    ("line", "vouched"),
    [
        ("p", True), ("p -n 5", True), ("p -n5", True), ("p -n -x", True), ("p -n", False), ("p --out=a", True),
        ("p --out a", False), ("p --out", False), ("p --ou=a", False), ("p -name x", True), ("p -namex", True),
        ("p -v", True), ("p -vv", False), ("p -vn5", False), ("p -- a", True), ("p -- -v", False), ("p a -v", True),
        ("p a -- -n", False), ("p -", False), ("p --", True), ("p -n=5", True), ("P", False),
    ],
)  # fmt: skip
def test_options_are_exact_words(line: str, vouched: bool) -> None:
    rule = ShellRule(run=("p",), flags=("-n=", "--out=", "-name=", "-v"), positional="any")
    assert breaks_example(rule, line.split()) is not vouched


@pytest.mark.parametrize(
    ("word", "scope"),
    [
        ("a", "a/**"), ("./a//b/", "a/b/**"), (".", "**"), ("./", "**"), ("a b/é", "a b/é/**"), ("HEAD~3", "HEAD~3/**"),
        ("main..x", "main..x/**"), ("a\\.b", "a\\.b/**"), ("/a", None), ("..", None), ("a/../b", None), ("~", None),
        ("~x/a", None), ("-a", None), ("+5", None), ("@x", None), (":/x", None), ("http://x/a", None), ("C:/x", None),
        ("C:\\x", None), ("..\\x", None), ("a\\..\\b", None), ("a\nb", None), ("a\u202eb", None), ("", None),
        ("file:///etc/passwd", None),
    ],
)  # fmt: skip
def test_a_word_is_a_path_inside_the_workspace_or_none(word: str, scope: str | None) -> None:
    assert scope_in_text(word) == scope


def test_a_worker_can_only_narrow() -> None:
    assert raised("git log", presets=["git-read"]) == {"proc.exec.read", "fs.read:**"}
    assert raised("ls", presets=["git-read"]) == {"proc.exec.unlisted"}
    assert raised("git log", rules=[{"run": ["git", "status"]}]) == {"proc.exec.unvouched"}
    assert raised("rm x", rules=[{"run": ["rm"], "positional": "any"}]) == {"proc.exec.unlisted"}


def test_of_two_rules_that_vouch_the_strictest_holds() -> None:
    rules = [{"run": ["cat"], "positional": "paths"}]
    assert raised("cat a", rules=rules) == {"proc.exec", "proc.exec.read", "fs.read:a/**", "fs.write:a/**"}


def test_a_rule_survives_the_text_of_the_lock() -> None:
    assert all(ShellRule.parse(str(rule)) == rule for rule in SETTINGS.rules)


def test_without_a_rule_every_program_is_unlisted() -> None:
    assert raised("ls", ShellSettings()) == {"proc.exec.unlisted"}
    assert Vouching.of(ShellSettings(), {}).declared("auto") == {Capability("proc.exec.unlisted")}


WORDS = ["a", "-p", "x/y", "..", "log", "test", "-n", "--", "-rn", "src"]
COMMANDS = st.tuples(
    st.sampled_from(["git", "ls", "mkdir", "make", "python", "env", "grep", "rm", "cat"]),
    st.lists(st.sampled_from(WORDS), max_size=4),
).map(lambda parts: [parts[0], *parts[1]])
CONFIGS = st.sampled_from(
    [
        {},
        {"presets": ["git-read"]},
        {"rules": [{"run": ["cat"], "positional": "any"}, {"run": ["git"], "positional": "any"}]},
    ]
)


@given(COMMANDS, CONFIGS, st.sampled_from(["auto", "require", "off"]))
def test_whatever_a_command_raises_was_declared(
    command: list[str], config: dict[str, object], mode: str
) -> None:
    vouching = Vouching.of(SETTINGS, config)
    declared = vouching.declared(mode)
    for isolated in {"auto": (True, False), "require": (True,), "off": (False,)}[mode]:
        for one in vouching.raised(command, scope_in_text, isolated=isolated):
            assert any(most.contains(one) for most in declared)


@given(COMMANDS, CONFIGS)
def test_the_rules_of_a_worker_never_loosen(command: list[str], config: dict[str, object]) -> None:
    own = Vouching.of(SETTINGS, {}).raised(command, scope_in_text, isolated=True)
    narrowed = Vouching.of(SETTINGS, config).raised(command, scope_in_text, isolated=True)
    refused = {Capability("proc.exec.unvouched"), Capability("proc.exec.unlisted")}
    assert own <= narrowed or narrowed & refused
