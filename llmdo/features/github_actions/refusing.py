"""Conditions for which GitHub refuses a workflow: no `if` may name `secrets`.

https://docs.github.com/en/actions/reference/workflows-and-actions/contexts#context-availability
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.parts import items, table, text
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.syntax.document import Document, Route

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_SECRETS = re.compile(r"(?<![\w.-])secrets(?=\s*[.\[),]|\s*$)", re.IGNORECASE)
"""The context, and neither a function nor a job, a step or a key of that name."""


def refused_conditions(document: Document) -> Iterator[Diagnostic]:
    """A note for each condition of a workflow that has GitHub refuse it as a whole."""
    jobs = table(document.data, "jobs")
    for name in jobs:
        job = table(jobs, name)
        if _names_secrets(job.get("if")):
            yield _refused(document, ("jobs", name, "if"), "")
        for number, step in enumerate(items(job.get("steps"))):
            if _names_secrets(table(step).get("if")):
                instead = "give its job a variable with it in `env`, and ask for `env.NAME`"
                yield _refused(document, ("jobs", name, "steps", number, "if"), instead)


def _refused(document: Document, route: Route, hint: str) -> Diagnostic:
    message = "an `if` must not name `secrets`, so GitHub refuses this workflow and none of its jobs runs"
    return finding("LDO152", Place(document, route).location, message, hint=hint or None)


def _names_secrets(condition: object) -> bool:
    """Whether an `if`, which is one expression or has some, names the context of secrets."""
    words = text(condition)
    parts = _EXPRESSION.findall(words) if "${{" in words else [words]
    return any(_SECRETS.search(_QUOTED.sub("''", part)) for part in parts)
