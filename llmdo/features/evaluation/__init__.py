"""Evals: an entry run over cases, each run judged, and models and revisions compared.

`suite` reads `evals/NAME.yaml`; its cases run through `batch`, so that they resume, retry and share limits.
`run_facts` reads from the journal of a run which calls it made; `evaluators` judge that and the output with
pydantic-evals, which nothing else imports. The result is an `Evaluated`, which `rendering` shows and with which a later
evaluation is compared.
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
