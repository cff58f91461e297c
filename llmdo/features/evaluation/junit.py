"""An evaluation as a JUnit report: a suite for each variant, a test case for each case."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.features.evaluation.rendering import reasons

if TYPE_CHECKING:
    from llmdo.features.evaluation.outcome import Evaluated, Variant

HALF = 0.5


def as_junit(evaluated: Evaluated) -> str:
    """The report. A case fails that fails in most of its trials; one that was not judged is an error."""
    suites = "".join(_suite(evaluated, variant) for variant in evaluated.variants)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="llmdo eval">\n{suites}</testsuites>\n'


def _suite(evaluated: Evaluated, variant: Variant) -> str:
    shares = {case: variant.share(case) for case in evaluated.cases}
    failures = sum(share is not None and share < HALF for share in shares.values())
    errors = sum(share is None for share in shares.values())
    name = escape(shown(f"{evaluated.name} {variant.label}"))
    cases = "".join(_case(evaluated, variant, case) for case in evaluated.cases)
    return (
        f'<testsuite name="{name}" tests="{len(shares)}" failures="{failures}" errors="{errors}">\n'
        f"{cases}</testsuite>\n"
    )


def _case(evaluated: Evaluated, variant: Variant, case: str) -> str:
    trials = [trial for trial in variant.trials if trial.case == case]
    seconds = sum(trial.seconds or 0 for trial in trials)
    opening = (
        f'<testcase classname="llmdo.eval.{escape(shown(evaluated.name))}" name="{escape(shown(case))}" '
        f'time="{seconds:.3f}"'
    )
    share = variant.share(case)
    failed = [trial for trial in trials if trial.is_judged and not trial.passed]
    if share is None:
        return f'{opening}>\n<error message="it was not judged"/>\n</testcase>\n'
    if not failed:
        return f"{opening}/>\n"
    lines = [escape(shown(line)) for line in (*reasons(failed), *(f"run {trial.run}" for trial in failed))]
    text = "\n".join(lines)
    if share < HALF:
        return f'{opening}>\n<failure message="{lines[0]}">{text}</failure>\n</testcase>\n'
    return f"{opening}>\n<system-out>{text}</system-out>\n</testcase>\n"
