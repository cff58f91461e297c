"""Better or worse: an eval runs an entry over cases, judges each run, and compares models and revisions.

`suite` reads `evals/NAME.yaml`; its cases run through `batch`, so that they resume, retry and share limits. `facts`
says what a run did, by its journal; `evaluators` judge that and the output with pydantic-evals, which nothing else
imports. What comes out is an `Evaluated`, which `render` shows and which a later evaluation is held against.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="evaluation",
    commands={"eval": "llmdo.features.evaluation.cli"},
    views=("llmdo.features.evaluation.view",),
    extras={"eval": "pydantic_evals"},
    needs=("batch",),
    pages=("eval.md", "eval-file.md"),
)
