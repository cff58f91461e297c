"""`schema_in_ref` and `schema_out_ref` from the command line: judged input, JSON out, a digest in the lock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Llmdo

SCHEMAS = """\
from pydantic import BaseModel


class Word(BaseModel):
    word: str
    times: int = 1
"""


@pytest.fixture
def typed(workspace: Path) -> Path:
    (workspace / "schemas.py").write_text(SCHEMAS, encoding="utf-8")
    header = "name: main\nschema_in_ref: schemas.py:Word\n"
    (workspace / "main.worker").write_text(f"---\n{header}---\nGo.\n", encoding="utf-8")
    (workspace / "models.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "def echo(messages, info):\n"
        "    return ModelResponse(parts=[TextPart(messages[0].parts[-1].content)])\n"
        "rules = FunctionModel(echo)\n",
        encoding="utf-8",
    )
    return workspace


def test_the_input_of_a_typed_entry_is_json(llmdo: Llmdo, typed: Path) -> None:
    done = llmdo("run", "main", "--input", '{"word": "ü"}', cwd=typed)
    assert (done.code, json.loads(done.out)) == (0, {"word": "ü", "times": 1})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"word": "x", "times": "many"}',
            "the input of `main` does not fit: `times`: input should be a valid",
        ),
        ("do it", "the input of `main` is not JSON"),
    ],
)
def test_an_input_that_does_not_fit_is_one_sentence(
    text: str, problem: str, llmdo: Llmdo, typed: Path
) -> None:
    done = llmdo("run", "main", "--input", text, cwd=typed)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert "give a JSON object with what `Word` has: `word`, `times`" in done.err
    assert "Traceback" not in done.err


def test_a_change_of_the_model_makes_the_lock_stale(llmdo: Llmdo, typed: Path) -> None:
    assert llmdo("lock", cwd=typed).code == 0
    assert llmdo("check", "--locked", cwd=typed).code == 0
    (typed / "schemas.py").write_text(SCHEMAS.replace("times: int", "times: float"), encoding="utf-8")
    done = llmdo("check", "--locked", cwd=typed)
    assert done.code == 1
    assert "schemas.py" in done.out
