"""What a shell rule vouches for, and what a command raises under it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.graph import builtin
from llmdo.policy.authority import Capability
from llmdo.policy.shell import ShellRule, ShellSettings, Vouching, parse_rules
from llmdo.policy.shell.presets import PRESETS
from llmdo.policy.shell.programs import may_name_program
from llmdo.policy.shell.rules import breaks_example, parse_rule, scope_in_text

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
    return {str(capability) for capability in vouching.raised(line.split(), scope_in_text, isolated=isolated)}


@pytest.mark.few(61)
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


@pytest.mark.parametrize(
    ("line", "scope"),
    [
        ("cat .env", ".env/**"),
        ("cat ./sub/.ENV", "sub/.ENV/**"),
        ("ls .git", ".git/**"),
        ("find .llmdo/runs", ".llmdo/runs/**"),
        ("grep -e KEY id_rsa", "id_rsa/**"),
        ("git show HEAD:.env", "HEAD:.env/**"),
        ("git log -- .npmrc", ".npmrc/**"),
        ("mkdir .ssh", ".ssh/**"),
    ],
)
def test_a_path_that_mostly_holds_secrets_is_raised_beside_its_reading(line: str, scope: str) -> None:
    assert f"fs.read.protected:{scope}" in raised(line)


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


@pytest.mark.few(31)
@pytest.mark.parametrize(
    "run",
    [
        "sed", "sed -n", "sed -i", "tar", "tar -xf", "awk -F ,", "gawk", "make", "make -j 4", "xargs", "xargs -I {}",
        "xargs -n 1 sh", "env", "env A=1", "env -u A", "env A=1 python", "nice", "nice -n 10", "nice make", "timeout 5",
        "timeout -s KILL 5", "timeout 5 python", "timeout 5s bash", "nohup", "stdbuf -oL", "sudo -u bob", "sudo make",
        "ssh", "ssh host", "ssh -p 22 host", "ssh -o X host", "flock x", "chroot .", "git", "git -C sub",
        "gh", "gh alias", "gh alias set", "gh extension install", "xcrun", "fastlane", "git --no-pager", "git bisect", "git bisect run", "git submodule", "git submodule foreach", "git config",
        "git difftool", "git hook run", "docker run", "docker exec box", "docker exec -i box sh", "npm run", "npm exec",
        "npx", "uv run", "uv run python", "pip install", "find . -exec", "rg --pre", "python -m", "python3.12", "bash -c",
        "hg", "ed", "less", "pytest", "kubectl exec pod", "mosh host", "podman exec box", "podman run image", "script log",
        "pnpm --filter web", "npm --prefix web", "uv --directory api run", "cargo +nightly", "docker --context dev run",
        "gh -R desk/site", "kubectl -n dev exec", "su bob", "taskset 3", "taskset 3 git bisect", "flock 9 make", "docker exec 12 git bisect", "timeout 5 su 7 make",
    ],
)  # fmt: skip
def test_a_rule_that_leaves_to_the_model_what_runs_vouches_for_nothing(run: str) -> None:
    rule = ShellRule(run=tuple(run.split()), positional="any")
    assert rule.is_open_launcher
    assert breaks_example(rule, [*run.split(), "x"])


@pytest.mark.parametrize(
    ("run", "flag"),
    [
        ("find .", "-exec"), ("find", "-okdir"), ("fd", "-x"), ("sort", "--compress-program="), ("rg", "--pre="),
        ("sort", "--compress="), ("split", "--filter="), ("git grep", "-O"), ("git rebase", "-x="),
        ("git fetch", "--upload-pack="), ("git diff", "--ext-diff"), ("git log", "--textconv"), ("pytest", "-p="),
        ("pytest", "--override="), ("node", "-e="),
    ],
)  # fmt: skip
def test_so_does_one_with_an_option_that_says_what_runs(run: str, flag: str) -> None:
    assert ShellRule(run=tuple(run.split()), flags=(flag,), positional="paths").is_open_launcher


@pytest.mark.parametrize(
    "command",
    [
        "git push --receive-pack=./x .", "git push --receive-pack ./x .", "git push . --rec=./x", "git -C a fetch --upload ./x",
        "git clone -qu ./x . a", "git clone -c core.sshCommand=./x a", "git grep -iO./x a", "find . -name a -exec ./x +",
        "/usr/bin/git push --exec=./x .", "timeout 5 git push --exec=./x .", "env A=1 nice rg --pre ./x a",
        "env -i git push --exec=./x .", "env -i git -C a push --exec=./x .", "nice -n 5 git -c a=b fetch --upload-pack=x",
        "rg --pre ./x a", "sort --compress=./x a", "gh repo clone a -- -u ./x", "fd -HX ./x", "git rebase -ix ./x",
        "npm test --node-options=--import=data:text/javascript,0", "npm run --silent build --node-opt --import=x", "npm ci --script-shell ./x", "npm pack --node-options=--import=x",
    ],
)  # fmt: skip
def test_an_option_of_a_whole_command_may_name_a_program(command: str) -> None:
    assert may_name_program(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "git push -u origin main", "git push --force-with-lease", "git fetch --all", "git clone -q a b", "git grep -n a",
        "find . -name a", "rg -n --glob=*.py a", "sort -u a", "gh repo clone a", "fd -H a", "git rebase --continue", "ls -x",
        "git log --", "make -x", "npm run build -- --watch", "npm test --silent",
    ],
)  # fmt: skip
def test_other_options_name_none(command: str) -> None:
    assert not may_name_program(command.split())


@pytest.mark.parametrize(
    "run",
    [
        "git log", "gh issue list", "gh pr", "git --no-pager log", "git bisect start", "git submodule status", "sed -n 1,5p", "make test",
        "timeout 5 python a.py", "env A=1 python a.py", "nice -n 10 make test", "python a.py", "python -m pytest",
        "uv run pytest tests", "npm run test", "docker exec box ls", "ssh host uptime", "find . -exec wc -l", "mkdir",
        "xargs -n 1 wc", "chroot . ls", "docker run image ls", "flock x ls", "kubectl exec pod ls", "mosh host ls",
        "podman exec box ls", "podman run image ls", "script log ls", "su bob ls", "taskset 3 ls",
        "pnpm --filter web test", "uv --directory api pip list", "cargo +nightly fmt", "gh -R desk/site pr view",
    ],
)  # fmt: skip
def test_a_rule_that_names_what_runs_vouches_for_its_arguments(run: str) -> None:
    rule = ShellRule(run=tuple(run.split()), positional="paths")
    assert not rule.is_open_launcher
    assert not breaks_example(rule, [*run.split(), "x"])


@pytest.mark.parametrize(
    ("run", "line"),
    [
        ("dd", "dd if=../out/secret.txt"), ("dd", "dd if=a of=/etc/x"), ("dd", "dd if=~/.ssh/id_rsa"),
        ("dd", "dd if=-"), ("dd", "dd if=@list"), ("cp", "cp a b=../c"), ("convert", "convert text:/etc/passwd a"),
        ("convert", "convert a,../b c"), ("dd", "dd a=b=../c"), ("dd", "dd if=..\\x"), ("dd", "dd if=C:/x"),
        ("git show", "git show HEAD:../x"), ("git clone", "git clone ext::./pwn.sh"), ("scp2", "scp2 host:/etc/passwd"),
        ("make test", "make test SHELL=./pwn.sh"), ("make test", "make test SHELL:=./pwn.sh"),
        ("make test", "make test X=1"), ("make test", "make test x!=./pwn.sh"), ("env A=1 ls", "env A=1 ls B=1"),
        ("awk -f a.awk", "awk -f a.awk x=1"), ("python a.py", "python a.py --x=1"),
    ],
)  # fmt: skip
def test_what_follows_an_equals_sign_is_a_path_and_never_a_variable_of_a_launcher(
    run: str, line: str
) -> None:
    rule = ShellRule(run=tuple(run.split()), positional="paths")
    assert breaks_example(rule, line.split())


def test_a_path_after_an_equals_sign_is_raised_as_well() -> None:
    rule = ShellRule(run=("dd",), positional="paths")
    capabilities = rule.raised(("dd", "if=a/.env"), scope_in_text, isolated=True) or ()
    assert {str(capability) for capability in capabilities} >= {
        "fs.read:if=a/.env/**",
        "fs.read:a/.env/**",
        "fs.write:a/.env/**",
        "fs.read.protected:a/.env/**",
    }


def test_no_launcher_takes_a_variable_from_the_model_whatever_its_words_are() -> None:
    assert breaks_example(
        ShellRule(run=("make", "test"), positional="any"), ["make", "test", "SHELL=./pwn.sh"]
    )


TESTS = ShellRule(run=("pytest", "tests"), flags=("-q", "-k=", "-x"), positional="paths")


@pytest.mark.parametrize(
    ("rule", "line", "vouched"),
    [
        (TESTS, "pytest -q tests", True),
        (TESTS, "pytest -q -k parser tests/a.py tests", False),
        (TESTS, "pytest -k tests tests -x src", True),
        (TESTS, "pytest -kparser tests", True),
        (TESTS, "pytest -k tests", False),
        (TESTS, "pytest -q src", False),
        (TESTS, "pytest -p evil tests", False),
        (TESTS, "pytest -- tests", False),
        (TESTS, "pytest -q", False),
        (ShellRule(run=("pytest",), flags=("-q",), positional="paths"), "pytest -q tests", True),
        (ShellRule(run=("pytest",), flags=("-q",), positional="paths"), "pytest -q ../tests", False),
        (ShellRule(run=("git", "log"), flags=("-p",), positional="paths"), "git -p log", False),
        (ShellRule(run=("make", "test"), flags=("-n",), positional="paths"), "make -n test", False),
    ],
)
def test_a_test_runner_takes_options_before_its_tests(rule: ShellRule, line: str, vouched: bool) -> None:
    assert breaks_example(rule, line.split()) is not vouched


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("head -5 README.md", "README.md/**"), ("tail -20 README.md", "README.md/**"), ("ls -- -x", "-x/**"),
        ("git log -5", "**"), ("grep -3 -e x README.md", "README.md/**"), ("cat -- --a/../b", None), ("cat -- -", None),
        ("cat -- -x .env", ".env/**"), ("head -5x README.md", None), ("head --5 README.md", None), ("wc -5 a", None),
        ("ls -5", None), ("git log -- -x", None), ("find -- -delete", None), ("rg -- -x", None), ("git show -5", None),
    ],
)  # fmt: skip
def test_numbers_as_options_and_paths_after_two_dashes_mean_what_they_do(
    line: str, reads: str | None
) -> None:
    capabilities = raised(line)
    assert (f"fs.read:{reads}" in capabilities) if reads else capabilities == {"proc.exec.unvouched"}


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


WORDS = ["a", "-p", "x/y", ".env", "HEAD:.git/x", "if=x", "-5", "..", "log", "test", "-n", "--", "-rn", "src"]
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
        for capability in vouching.raised(command, scope_in_text, isolated=isolated):
            assert any(most.contains(capability) for most in declared)


@given(COMMANDS, CONFIGS, st.booleans())
def test_every_command_raises_that_it_is_one(
    command: list[str], config: dict[str, object], isolated: bool
) -> None:
    shell = builtin.tools("shell", config, SETTINGS)["shell"]
    raised = Vouching.of(SETTINGS, config).raised(command, scope_in_text, isolated=isolated)
    for group in builtin.raised_always("shell", shell):
        assert any(most.contains(capability) for most in group for capability in raised)


@pytest.mark.parametrize("rule", [{"positional": "paths"}, {"reads": "workspace"}])
def test_reach_shows_by_name_that_commands_may_read_secrets(rule: dict[str, object]) -> None:
    settings = ShellSettings(rules=parse_rules({"rules": [{"run": ["p"], **rule}]}))
    assert Capability("fs.read.protected", "**") in Vouching.of(settings, {}).declared("require")


@given(COMMANDS, CONFIGS)
def test_the_rules_of_a_worker_never_loosen(command: list[str], config: dict[str, object]) -> None:
    own = Vouching.of(SETTINGS, {}).raised(command, scope_in_text, isolated=True)
    narrowed = Vouching.of(SETTINGS, config).raised(command, scope_in_text, isolated=True)
    refused = {Capability("proc.exec.unvouched"), Capability("proc.exec.unlisted")}
    assert own <= narrowed or narrowed & refused
