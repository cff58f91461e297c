"""The code of an extension: however it ends or what it prints, a command neither passes nor prints for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extensions.conftest import change
from tests.support.commands import llmdo

WHOLE = ("EXTENSION = ", "{}\nEXTENSION = ")
RULES = ("from __future__ import annotations\n", "from __future__ import annotations\n{}\n")
CHECK = ("    for name, prompt in", "    {}\n    for name, prompt in")
READER = ("    files = Files", "    {}\n    files = Files")
TABLE = ("_MANUAL = ", "{}\n_MANUAL = ")

ENDS = [
    "raise SystemExit(0)",
    "import sys; sys.exit()",
    "from llmdo import LlmdoError; raise LlmdoError('fine', exit_code=0)",
    "raise type('Mute', (Exception,), {'__str__': lambda self: exit(0)})",
    "raise type('Mute', (SystemExit,), {'code': property(lambda self: exit(0))})",
]

PLACES = [
    ("__init__", WHOLE, ("check",), "the extension `acme-llmdo` cannot be imported: "),
    ("__init__", WHOLE, ("run",), "the extension `acme-llmdo` cannot be imported: "),
    ("__init__", WHOLE, ("scan", "crews"), "the extension `acme-llmdo` cannot be imported: "),
    ("rules", RULES, ("check",), "`acme_llmdo.rules:unsigned_prompt` of the extension `acme` cannot be imported: "),
    ("rules", RULES, ("explain", "ACME001"), "`acme_llmdo.rules:unsigned_prompt` of the extension `acme` cannot be"),
    ("rules", RULES, ("eval", "--approve-all"), "of the extension `acme` cannot be imported: "),
    ("rules", CHECK, ("check",), "the check `ACME001` of the extension `acme` failed: "),
    ("rules", CHECK, ("check", "--format", "json"), "the check `ACME001` of the extension `acme` failed: "),
    ("rules", CHECK, ("run",), "the check `ACME001` of the extension `acme` failed: "),
    ("rules", CHECK, ("lock", "--check"), "the check `ACME001` of the extension `acme` failed: "),
    ("crew/reader", READER, ("check", "--from", "acme", "crews"), "the format `acme` of the extension `acme` failed: "),
    ("crew/reader", RULES, ("reach", "--from", "acme", "crews"), "of the extension `acme` cannot be imported: "),
    ("crew/table", TABLE, ("explain", "--from", "acme"), "of the extension `acme` cannot be imported: "),
]  # fmt: skip


@pytest.mark.few(8)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("module", "where", "words", "sentence"), PLACES, ids=lambda value: str(value)[:40])
def test_an_end_of_its_code_is_a_failure_that_names_it(
    root: Path,
    packages: Path,
    policy: Path,
    module: str,
    where: tuple[str, str],
    words: tuple[str, ...],
    sentence: str,
    end: str,
) -> None:
    before, after = where
    change(packages / f"acme_llmdo/{module}.py", before, after.format(end))
    done = llmdo(root, *words)
    if words == ("lock", "--check"):
        assert done.returncode in (1, 2)
        return
    assert done.returncode == 2, done
    assert sentence in done.stdout + done.stderr


def test_an_interruption_of_its_code_interrupts_the_command(root: Path, packages: Path, policy: Path) -> None:
    change(packages / "acme_llmdo/rules.py", CHECK[0], CHECK[1].format("raise KeyboardInterrupt"))
    assert llmdo(root, "check").returncode == 130


def test_a_finding_later_than_others_ends_nothing_either(root: Path, packages: Path, policy: Path) -> None:
    rules = packages / "acme_llmdo/rules.py"
    change(rules, 'if "Team: " not in prompt:', "if True:")
    change(rules, "            )\n", "            )\n            raise SystemExit(0)\n")
    assert llmdo(root, "check").returncode == 2


@pytest.mark.parametrize("kind", ["def polite", "async def polite"])
@pytest.mark.parametrize(
    ("end", "sentence"), [("exit(0)", "it called sys.exit(0)"), ("1 / 0", "division by zero")]
)
def test_an_evaluator_that_ends_is_no_passed_trial(
    root: Path, packages: Path, policy: Path, kind: str, end: str, sentence: str
) -> None:
    pytest.importorskip("pydantic_evals")
    rules = packages / "acme_llmdo/rules.py"
    change(rules, "def polite", kind)
    change(rules, 'return "thank" in', f'{end}\n    return "thank" in')
    assert llmdo(root, "lock").returncode == 0
    done = llmdo(root, "eval", "--approve-all", "--fail-under", "1")
    assert done.returncode == 1
    assert sentence in done.stdout


@pytest.mark.parametrize("kind", ["def strict", "async def strict"])
def test_a_function_of_the_workspace_that_ends_is_none_either(
    root: Path, packages: Path, policy: Path, kind: str
) -> None:
    pytest.importorskip("pydantic_evals")
    change(root / "evals/manners.yaml", "evaluator: polite", "function: judges.py:strict")
    (root / "judges.py").write_text(f"{kind}(ctx):\n    raise SystemExit(0)\n")
    assert llmdo(root, "trust").returncode == 0
    assert llmdo(root, "lock").returncode == 0
    done = llmdo(root, "eval", "--approve-all", "--fail-under", "1")
    assert done.returncode == 1
    assert "it called sys.exit(0)" in done.stdout


PRINTS = "import sys; print('noise'); sys.stdout.write('noise\\n')"


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--format", "json"),
        ("check", "--format", "sarif"),
        ("check", "--from", "acme", "crews", "--format", "json"),
        ("scan", "crews", "--format", "json"),
        ("eval", "--approve-all", "--format", "json"),
        ("reach", "--format", "json"),
    ],
    ids=" ".join,
)
def test_what_its_code_prints_is_no_output_of_a_command(
    root: Path, packages: Path, policy: Path, words: tuple[str, ...]
) -> None:
    folder = packages / "acme_llmdo"
    for module, (before, after) in (
        ("__init__", WHOLE), ("rules", CHECK), ("rules", RULES), ("crew/reader", READER), ("crew/table", TABLE),
        ("rules", ("    return \"thank\"", "    {}\n    return \"thank\"")),
    ):  # fmt: skip
        change(folder / f"{module}.py", before, after.format(PRINTS))
    assert llmdo(root, "lock").returncode == 0
    done = llmdo(root, *words)
    assert done.returncode == 0, done
    json.loads(done.stdout)
    assert "noise" in done.stderr


def test_what_explain_says_of_its_check_is_its_docstring_alone(
    root: Path, packages: Path, policy: Path
) -> None:
    change(packages / "acme_llmdo/rules.py", RULES[0], RULES[1].format(PRINTS))
    done = llmdo(root, "explain", "ACME001")
    assert done.stdout.startswith("ACME001 unsigned-prompt")
    assert done.stderr == "noise\nnoise\n"
