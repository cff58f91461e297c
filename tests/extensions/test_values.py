"""The values of an extension: what it states of itself, what its checks find, and what its readers return."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extensions.conftest import change, commit
from tests.support.commands import llmdo

CHECKS = 'checks={"ACME001": OwnCheck("unsigned-prompt", "error", "acme_llmdo.rules:unsigned_prompt")}'
SECOND = (
    '"acme_llmdo.rules:unsigned_prompt")}',
    '"acme_llmdo.rules:unsigned_prompt"), "ACME002": OwnCheck({}, "error", "acme_llmdo.rules:polite")}}',
)
GLOBS = '("**/*.acme.json",)'
MEANING = '"sends a message over the bridge"'


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('"error"', '"fatal"', "its `checks.ACME001.severity` is not `error` or `warning` or `note`"),
        ('"error"', "['error']", "its `checks.ACME001.severity` is not `error`"),
        ('"unsigned-prompt"', "None", "its `checks.ACME001.name` is not a text"),
        ('OwnCheck("unsigned-prompt", ', '("unsigned-prompt", ', "is not of the class `OwnCheck`"),
        (CHECKS, "checks=None", "its `checks` is not a mapping"),
        (CHECKS, "checks=['ACME001']", "its `checks` is not a mapping"),
        ('{"ACME001"', "{1", "its `checks, a key` is not a text"),
        ('"ACME001"', '"acme001"', "its `acme001` is not a code such as `ACME001`"),
        ('"ACME001"', '"ACME\\n001"', "is not a code such as `ACME001`"),
        ('"unsigned-prompt"', '"ldo401"', "its `ldo401` is not a name for a check"),
        ('"unsigned-prompt"', '"stale-lock"', "its `stale-lock` is not a name for a check"),
        (SECOND[0], SECOND[1].format('"unsigned-prompt"'), "is not a name for a check, or is that of another one"),
        (":unsigned_prompt", "", "leads to `acme_llmdo.rules`, which is not written `package.module:NAME`"),
        ('"acme_llmdo.rules:unsigned', '".rules:unsigned', "leads to `.rules:unsigned_prompt`, which is not written"),
        ('"acme_llmdo.rules:unsigned', '"rules:unsigned', "the module `rules` that the extension `acme-llmdo` names"),
        ('"acme_llmdo.rules:polite"', '"os:getcwd"', "the module `os` that the extension `acme-llmdo` names"),
        ('"acme_llmdo.rules:polite"', "print", "its `evaluators.polite` is not a text"),
        ('"polite"', '"Polite"', "its evaluator `Polite` has not a name of lower-case words"),
        ('"acme_llmdo.crew"', '"crew"', "the module `crew` that the extension `acme-llmdo` names"),
        ('"acme_llmdo.crew"', '"acme_llmdo/crew"', "which is not written `package.module`"),
        ('{"acme": Foreign', '{"auto": Foreign', "its format `auto` has not a name"),
        ('{"acme": Foreign', '{"mcp": Foreign', "its format `mcp` is there already"),
        (GLOBS, '"**/*.acme.json"', "its `formats.acme.files` is not a tuple"),
        (GLOBS, "()", "its format `acme` names no files"),
        (GLOBS, '("../*.json",)', "has `../*.json` among its files, which is no glob"),
        (GLOBS, '("/etc/*",)', "has `/etc/*` among its files, which is no glob"),
        (GLOBS, '("",)', "has `` among its files, which is no glob"),
        ('"allowed"', '"sometimes"', "its `capabilities.acme.bridge.look.decision` is not `allowed`"),
        ("reads=True", "reads=1", "its `capabilities.acme.bridge.look.reads` is not `True` or `False`"),
        (MEANING, '""', "its capability `acme.bridge.send` does not say in one line"),
        (MEANING, '"a\\nb"', "its capability `acme.bridge.send` does not say in one line"),
        ('name="acme"', "name=None", "its `name` is not a text"),
        ('name="acme"', 'name="codex"', "its name `codex` is there already, of `codex`"),
        ('name="acme"', 'name="\\x1b[31m"', "is not one of lower-case words"),
        ("EXTENSION = ", "class Other(Extension): pass\nEXTENSION = Other(name='acme') or ", "is no `Extension`"),
        ("EXTENSION = ", "EXTENSION = object.__new__(Extension) or ", "cannot be used: AttributeError"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_told(
    root: Path, packages: Path, policy: Path, before: str, after: str, sentence: str
) -> None:
    change(packages / "acme_llmdo/__init__.py", before, after)
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert "error[LDO114]: the " in done.stdout
    assert sentence in done.stdout


def test_a_module_of_the_workspace_is_no_part_of_it(
    root: Path, packages: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "rules.py").write_text("open('canary', 'w').close()\n")
    monkeypatch.syspath_prepend(str(root))
    change(packages / "acme_llmdo/__init__.py", '"acme_llmdo.rules:unsigned', '"rules:unsigned')
    assert "the module `rules` that the extension `acme-llmdo` names" in llmdo(root, "check").stdout
    assert not (root / "canary").exists()


AT = "at=project.graph.workers[name].at.location"
MESSAGE = 'message=f"the prompt of `{name}` names no team"'
PLACE = "at=__import__('llmdo.base.source').base.source.Location({})"
SPAN = "__import__('llmdo.base.source').base.source.Span"
FIX = "fix=__import__('llmdo.base.diagnostic').base.diagnostic.Fix(project.graph.workers[name].at.location.__class__('a'), 'a', 'b', True), "


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (AT, "at='llmdo.toml'", "`at` is not of the class `Location`"),
        (AT, "at=None", "`at` is not of the class `Location`"),
        (AT, PLACE.format("None"), "`at.path` is not a text"),
        (AT, PLACE.format("'/etc/passwd'"), "`/etc/passwd` is not a path relative"),
        (AT, PLACE.format("'a/../../b'"), "`a/../../b` is not a path relative"),
        (AT, PLACE.format("''"), "`` is not a path relative"),
        (AT, PLACE.format("'llmdo.toml', 3"), "`at.span` is not of the class `Span`"),
        (AT, PLACE.format(f"'llmdo.toml', {SPAN}(0, 1, 1, 1)"), "does not go forward from line 1"),
        (AT, PLACE.format(f"'llmdo.toml', {SPAN}(2, 1, 1, 1)"), "does not go forward from line 1"),
        (AT, PLACE.format(f"'llmdo.toml', {SPAN}(True, 1, 1, 1)"), "`at.span.line` is not a whole number"),
        (MESSAGE, "message=7", "`message` is not a text"),
        (MESSAGE, "message=None", "`message` is not a text"),
        ("hint=", "related=['a'], hint=", "`related` is not a tuple"),
        ("hint=", "related=('a',), hint=", "`related[0]` is not of the class `Related`"),
        ("hint=", f"{FIX}hint=", "`fix.at` has no span"),
        ('code="ACME001"', 'code="LDO501"', "`LDO501` is not its code"),
        ('code="ACME001"', "code=['ACME001']", "`code` is not a text"),
        ("yield Diagnostic(", "yield dict(", "it is not of the class `Diagnostic`"),
        ("yield Diagnostic(", "yield None and Diagnostic(", "it is not of the class `Diagnostic`"),
    ],
)  # fmt: skip
def test_a_finding_that_cannot_be_shown_is_told(
    root: Path, packages: Path, policy: Path, before: str, after: str, sentence: str
) -> None:
    change(root / "workers/main.worker", "Team: harbour\n", "")
    change(packages / "acme_llmdo/rules.py", before, after)
    for words in (["check"], ["check", "--format", "sarif"], ["check", "--format", "junit"]):
        done = llmdo(root, *words)
        assert done.returncode == 2
        where = done.stderr if words == ["check"] else done.stdout + done.stderr
        assert "the check `ACME001` of the extension `acme` has a finding that cannot be shown: " in where
        assert sentence in done.stderr


def test_a_finding_beyond_the_end_of_a_file_is_shown(root: Path, packages: Path, policy: Path) -> None:
    change(root / "workers/main.worker", "Team: harbour\n", "")
    change(packages / "acme_llmdo/rules.py", AT, PLACE.format(f"'llmdo.toml', {SPAN}(900, 900, 901, 1)"))
    for form in ("text", "json", "sarif", "github", "junit"):
        assert llmdo(root, "check", "--format", form).returncode == 1


@pytest.mark.parametrize("answer", ["None", "7", "'ab'", "[1]"])
def test_a_check_that_finds_no_findings_is_told(
    root: Path, packages: Path, policy: Path, answer: str
) -> None:
    rules = packages / "acme_llmdo/rules.py"
    change(
        rules, "    for name, prompt in", f"    return {answer}\n\n\ndef _(project):\n    for name, prompt in"
    )
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert "the check `ACME001` of the extension `acme`" in done.stderr


TEAM = "    return Team(format="
AGENT = 'at=Place(document, ("name",)),'
ANSWERS = [
    (TEAM, "    return 7 or Team(format=", "it is not of the class `Team`"),
    (TEAM, "    return None and Team(format=", "it is not of the class `Team`"),
    ('format="acme"', 'format="claude"', "its `format` is `claude`"),
    ("agents=agents,", "agents=list(agents),", "`agents` is not a tuple"),
    ("agents=agents,", "agents=(7,),", "`agents[0]` is not of the class `Agent`"),
    ("files=files.paths", "files=None", "`files` is not a tuple"),
    ("problems=tuple(files.problems)", "problems=('no',)", "`problems[0]` is not of the class `Diagnostic`"),
    (AGENT, 'at="name",', "`agents[0].at` is not of the class `Place`"),
    (AGENT, "at=Place(None, ()),", "AttributeError"),
    ("prompt=", "description=7, prompt=", "`agents[0].description` is not a text"),
    ("decision=line.decision", "decision='maybe'", "`agents[0].grants[0].decision` is not `allowed`"),
    (
        "tuple(map(Capability, line.capabilities))",
        "line.capabilities",
        "capabilities[0]` is not of the class",
    ),
    ("tuple(map(Capability, line.capabilities))", "(Capability(7),)", ""),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("before", "after", "sentence"), ANSWERS)
def test_a_reader_that_returns_no_team_is_told_and_other_formats_are_read(
    root: Path, packages: Path, policy: Path, before: str, after: str, sentence: str
) -> None:
    change(packages / "acme_llmdo/crew/reader.py", before, after)
    others_are_read(root, sentence)


@pytest.mark.few(3)
@pytest.mark.parametrize("fault", ["1 / 0", "raise SystemExit(0)", "import nothing_of_this_name"])
@pytest.mark.parametrize("module", ["reader", "table"])
def test_a_reader_that_fails_is_told_and_other_formats_are_read(
    root: Path, packages: Path, policy: Path, module: str, fault: str
) -> None:
    file = packages / f"acme_llmdo/crew/{module}.py"
    file.write_text(file.read_text().replace("from llmdo.", f"{fault}\nfrom llmdo.", 1))
    others_are_read(root, "")


def others_are_read(root: Path, sentence: str) -> None:
    """Check that the failure of a format is an error by its name, and a finding beside those of other formats."""
    named = llmdo(root, "check", "--from", "acme", "crews")
    assert (named.returncode, named.stdout) == (2, "")
    assert "of the extension `acme`" in named.stderr
    assert sentence in named.stderr
    (root / "crews/.claude/agents").mkdir(parents=True)
    (root / "crews/.claude/agents/a.md").write_text("---\nname: a\ndescription: b\n---\nc\n")
    for words in (
        ["check", "--from", "auto", "crews"],
        ["check", "--from", "auto", "crews/lookout.acme.json"],
    ):
        done = llmdo(root, *words)
        assert done.returncode == 1, done
        assert "error[LDO153]: no file of acme was read: " in done.stdout
        assert "of the extension `acme`" in done.stdout
    done = llmdo(root, "check", "--from", "auto", "crews/.claude/agents/a.md", "--format", "json")
    assert "LDO153" not in {each["code"] for each in json.loads(done.stdout)["findings"]}
    scanned = llmdo(root, "scan", "crews", "--fail-on", "error")
    assert scanned.returncode == 1
    assert "claude" in scanned.stdout
    assert "no file of acme was read" in scanned.stdout
    assert llmdo(root, "reach", "--from", "claude", "crews").returncode == 0
    assert "could not be read" in llmdo(root, "reach", "--from", "auto", "crews").stderr
    commit(root)
    compared = llmdo(root, "diff", "--from", "auto", "crews")
    assert "1 place could not be read" in compared.stderr
    assert "verdict: unknown" in compared.stdout


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("TABLE = (", "TABLE = 7, (", "it is not of the class `Line`"),
        ("TABLE = (", "TABLE = list(", "cannot be imported: TypeError"),
        ('("fs.delete",)', '"fs.delete"', "`capabilities` is not a tuple"),
        ('"needs_approval"', '"maybe"', "`decision` is not `allowed`"),
        ("TABLE = (", "TABLES = (", "has no attribute 'TABLE'"),
        ("TABLE = (", "TABLE = {} or (", ""),
    ],
)
def test_a_table_that_is_none_is_told(
    root: Path, packages: Path, policy: Path, before: str, after: str, sentence: str
) -> None:
    change(packages / "acme_llmdo/crew/table.py", before, after)
    done = llmdo(root, "explain", "--from", "acme")
    if not sentence:
        assert done.returncode == 0
        return
    assert done.returncode == 2
    assert "of the extension `acme`" in done.stderr
    assert sentence in done.stderr


def test_trust_says_that_an_extension_is_not_loaded(root: Path, packages: Path, policy: Path) -> None:
    assert llmdo(root, "trust").stderr.startswith("trusted: this content")
    policy.unlink()
    done = llmdo(root, "trust")
    assert done.returncode == 0
    assert (
        "the extension `acme-llmdo` is not loaded: your own `policy.toml` does not list it [LDO114]"
        in done.stderr
    )
    assert 'hint: if you trust its code, write `extensions = ["acme-llmdo"]`' in done.stderr
