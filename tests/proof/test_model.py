"""The model in Coq: its proofs hold, its theorems are named in the docs, and the product does as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from proof.model import compare, extracted

SOURCES = sorted(extracted.FOLDER.glob("*.v"))
THEOREMS = [
    name for path in SOURCES for name in re.findall(r"^Theorem (\w+)", path.read_text("utf-8"), re.MULTILINE)
]
DOCS = extracted.FOLDER.parents[1] / "docs" / "proof.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extracted model, made where nobody else makes it."""
    lacking = [name for name in ("coqc", "ocamlc", "make") if shutil.which(name) is None]
    if lacking:
        why = f"{', '.join(lacking)}: not installed, so the proofs are not checked (Debian: coq, ocaml-nox)"
        (pytest.fail if os.environ.get("LLMDO_TEST_COQ") else pytest.skip)(why)
    folder = tmp_path_factory.mktemp("coq")
    for path in (*SOURCES, extracted.FOLDER / "main.ml", extracted.FOLDER / "Makefile"):
        shutil.copy(path, folder)
    return extracted.built(folder)


def test_no_proof_is_left_out() -> None:
    for path in SOURCES:
        code = re.sub(r"\(\*.*?\*\)", "", path.read_text("utf-8"), flags=re.DOTALL)
        gaps = re.findall(r"\b(?:Admitted|admit|Axioms?|Parameters?|Hypothes[ie]s|Conjecture|Abort)\b", code)
        assert not gaps, path


def test_the_docs_name_every_theorem_and_no_other() -> None:
    named = re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(THEOREMS)


@pytest.mark.long
def test_no_theorem_rests_on_an_axiom(program: Path) -> None:
    modules = " ".join(path.stem for path in SOURCES if path.stem != "Extract")
    lines = [f"From llmdo Require Import {modules}.", *(f"Print Assumptions {name}." for name in THEOREMS)]
    (program.parent / "Assumptions.v").write_text("\n".join(lines), encoding="utf-8")
    command = ["coqc", "-q", "-Q", ".", "llmdo", "Assumptions.v"]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Closed under the global context"] * len(THEOREMS)


@pytest.mark.long
def test_the_product_does_as_the_model_says(program: Path) -> None:
    for cases, number in (
        (compare.vocabulary(), 1),
        (compare.decisions(seed=34), 2_000),
        (compare.teams(seed=34), 2_000),
    ):
        assert not [str(each) for each in islice(compare.differences(program, cases, number), 3)]
