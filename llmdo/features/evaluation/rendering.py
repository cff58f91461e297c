"""Evaluations as text, JSON, JUnit, rows, Markdown and HTML."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import datetime
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from llmdo.base import jsonable
from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import excerpt, shown
from llmdo.base.jsonable import record
from llmdo.features.evaluation.document import SCHEMA, document
from llmdo.render.amounts import counted
from llmdo.render.markdown import escaped, with_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.colour import Screen, Shade
    from llmdo.base.values import Json
    from llmdo.features.evaluation.outcome import Evaluated, Trial, Variant

PERCENT = 100
LONGEST = 160  # characters of a reason in a line


def as_json(evaluated: Evaluated) -> str:
    """The document `llmdo.evaluation/1`."""
    return json.dumps(document(evaluated), indent=2, ensure_ascii=False) + "\n"


def as_text(evaluated: Evaluated, screen: Screen = PAPER) -> str:
    """A table of cases by variants, and below it the failures with their reasons."""
    lines = [title(evaluated), "", *_table(evaluated, screen)]
    if sentences := list(verdicts(evaluated)):
        lines += ["", *map(shown, sentences)]
    if failing := list(failures(evaluated)):
        lines += ["", *(f"{_label(evaluated, variant)}{line}" for variant, line in failing)]
    return "".join(f"{line}\n" for line in lines)


def title(evaluated: Evaluated) -> str:
    """The title line."""
    parts = [counted(len(evaluated.cases), "case")]
    if len(evaluated.variants) > 1:
        parts.append(counted(len(evaluated.variants), "variant"))
    if evaluated.repeat > 1:
        parts.append(f"{evaluated.repeat} times each")
    return f"{shown(evaluated.name)}: {', '.join(parts)} of entry {shown(evaluated.entry)}, {evaluated.id}"


def _table(evaluated: Evaluated, screen: Screen) -> Iterator[str]:
    widest = max(map(len, (*evaluated.cases, *(name for name, _ in totals(evaluated)))))
    columns = [(variant, max(len(shown(variant.label)), 9)) for variant in evaluated.variants]
    yield " " * widest + "".join(f"  {shown(variant.label):>{width}}" for variant, width in columns)
    for case in evaluated.cases:
        cells = []
        for variant, width in columns:
            text, shade = cell(variant, case, evaluated.repeat)
            cells.append("  " + " " * (width - len(text)) + screen.paint(shade, text))
        yield f"{shown(case):<{widest}}{''.join(cells)}  {excerpt(case_title(evaluated, case), LONGEST)}".rstrip()
    for name, of in totals(evaluated):
        yield f"{name:<{widest}}" + "".join(f"  {of(variant):>{width}}" for variant, width in columns)


def case_title(evaluated: Evaluated, case: str) -> str:
    """The title of the runs of a case, which is that of the first variant's."""
    return evaluated.variants[0].title(case)


def cell(variant: Variant, case: str, repeat: int) -> tuple[str, Shade]:
    """The cell of a case, and its shade."""
    trials = variant.of(case)
    if not trials:
        return "not run", "note"
    number = sum(trial.passed for trial in trials)
    shade: Shade = "good" if number == len(trials) else "bad" if number == 0 else "asks"
    if repeat == 1:
        return "passed" if number else "failed", shade
    return f"{number}/{len(trials)}", shade


def totals(evaluated: Evaluated) -> Iterator[tuple[str, Callable[[Variant], str]]]:
    """The rows below the cases: the name of each, and the function for its value of a variant."""
    yield "passed", passed
    yield "95 % of it", likely
    if evaluated.repeat > 1:
        yield f"pass^{evaluated.repeat}", partial(all_passed, evaluated.repeat)
    yield "requests", requests
    yield "cost", cost


def likely(variant: Variant) -> str:
    """The 95 % interval of the share that passes."""
    return (
        "-"
        if variant.interval is None
        else "{:.0f}-{:.0f}%".format(*(PERCENT * end for end in variant.interval))
    )


def all_passed(times: int, variant: Variant) -> str:
    """The probability that so many runs of a case all pass; unknown if some were not run."""
    share = variant.all_passed(times)
    return "-" if share is None else f"{share:.0%}"


def passed(variant: Variant) -> str:
    """The share of a variant that passed."""
    return "-" if variant.passed is None else f"{variant.passed:.0%}"


def requests(variant: Variant) -> str:
    """The number of requests of its runs."""
    return f"{sum(trial.requests for trial in variant.trials):,}"


def cost(variant: Variant) -> str:
    """The cost of its runs; with a `+` if some of them have no known price."""
    costs = [trial.cost_usd for trial in variant.trials if trial.is_judged]
    known = [cost for cost in costs if cost is not None]
    return f"${sum(known):.4f}{'+' * (None in costs)}" if known or not costs else "unknown"


def verdicts(evaluated: Evaluated) -> Iterator[str]:
    """A sentence for each recording and comparison, and for each requirement that does not hold."""
    for variant in filter(lambda variant: variant.recording, evaluated.variants):
        before = variant.recorded_usd
        had = "nobody knows what" if before is None else f"${before:.4f} is what"
        yield (
            f"{variant.label}: no model was asked, and nothing spent; {had} the answers in `{variant.recording}` "
            "had cost when they were recorded"
        )
    yield from (comparison.sentence for comparison in evaluated.comparisons)
    if (held := evaluated.held) is None:
        return
    yield from (comparison.sentence for comparison in held.comparisons)
    yield from (regression.sentence for regression in held.regressions)
    for label in dict.fromkeys(missed.variant for missed in held.missed):
        cases = ", ".join(missed.case for missed in held.missed if missed.variant == label)
        yield f"the baseline {held.baseline} is missed by {label}: {cases}"
    if held.is_held:
        yield f"the baseline {held.baseline} is held"
    if held.is_empty:
        yield f"nothing could be held against the baseline {held.baseline}"
    if held.lacking:
        yield f"not held against it, as they were not judged: {', '.join(held.lacking)}"
    for label in held.below:
        yield f"{label}: less passed than `--fail-under` {held.fail_under:g} says"


def failures(evaluated: Evaluated) -> Iterator[tuple[Variant, str]]:
    """A line for each failed case, with the reasons and runs; and for those that were not judged."""
    for variant in evaluated.variants:
        for case in evaluated.cases:
            trials = [trial for trial in variant.trials if trial.case == case]
            failed = [trial for trial in trials if trial.is_judged and not trial.passed]
            if failed:
                many = f" {len(failed)} of {len(trials)} times" if evaluated.repeat > 1 else ""
                runs = ", ".join(trial.run for trial in failed)
                yield variant, f"{shown(case)} failed{many}: {'; '.join(reasons(failed))} (run {runs})"
            if left := [trial for trial in trials if not trial.is_judged]:
                yield variant, f"{shown(case)} was not judged: {_standing(left)}"


def reasons(failed: Iterable[Trial]) -> list[str]:
    """Why trials failed, each reason once."""
    counted_reasons = Counter(
        f"{each.evaluator}" + (f": {each.reason}" if each.reason else "")
        for trial in failed
        for each in trial.judgements
        if not each.passed
    )
    return [
        excerpt(reason, LONGEST) + (f" ({number} times)" if number > 1 else "")
        for reason, number in counted_reasons.items()
    ]


def _standing(trials: Iterable[Trial]) -> str:
    states = Counter(f"{trial.state}" + (f": {trial.error}" if trial.error else "") for trial in trials)
    return "; ".join(excerpt(state, LONGEST) for state in states)


def _label(evaluated: Evaluated, variant: Variant) -> str:
    return f"{shown(variant.label)}: " if len(evaluated.variants) > 1 else ""


def listed(evaluations: Iterable[Evaluated]) -> str:
    """A line for each evaluation."""
    return "".join(
        f"{each.id}  {_when(each.began)}  {shown(each.name)}  "
        f"{', '.join(f'{shown(variant.label)} {passed(variant)}' for variant in each.variants)}"
        f"{'' if not each.unfinished else f'; {each.unfinished} runs left'}\n"
        for each in evaluations
    )


def listed_as_json(evaluations: Iterable[Evaluated]) -> str:
    """The document `llmdo.evaluations/1`, each without its trials."""
    every = [{"schema": SCHEMA, **record(each)} for each in evaluations]
    return jsonable.document("llmdo.evaluations/1", {"evaluations": every})


def _when(began: float) -> str:
    return datetime.fromtimestamp(began).astimezone().strftime("%Y-%m-%d %H:%M")


COLUMNS = (
    "evaluation",
    "eval",
    "variant",
    "case",
    "number",
    "title",
    "run",
    "state",
    "passed",
    "why",
    "output",
    "error",
    "requests",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "seconds",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that a spreadsheet would compute."""


def as_csv(evaluated: Evaluated) -> str:
    """A header line, then one line for each trial; data as JSON, unknown values empty.

    A text of others that a spreadsheet would take for a formula begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows(evaluated))
    return text.getvalue()


def as_jsonl(evaluated: Evaluated) -> str:
    """A JSON object for each trial, with the result of each of its evaluators."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(evaluated))


def rows(evaluated: Evaluated) -> Iterator[dict[str, Json]]:
    """The facts of each trial, by column, and its `judgements`."""
    for variant in evaluated.variants:
        for trial in variant.trials:
            yield {
                "evaluation": evaluated.id,
                "eval": evaluated.name,
                "variant": variant.label,
                "case": trial.case,
                "number": trial.number,
                "title": trial.title,
                "run": trial.run or None,
                "state": trial.state,
                "passed": trial.passed if trial.is_judged else None,
                "why": "; ".join(reasons([trial])) if trial.is_judged else None,
                "output": trial.output,
                "error": trial.error,
                "requests": trial.requests if trial.is_judged else None,
                "input_tokens": trial.input_tokens,
                "output_tokens": trial.output_tokens,
                "cost_usd": trial.cost_usd,
                "seconds": trial.seconds,
                "judgements": [
                    {
                        "evaluator": each.evaluator,
                        "passed": each.passed,
                        "value": each.value,
                        "reason": each.reason,
                    }
                    for each in trial.judgements
                ],
            }


def _cell(value: Json) -> Json:
    """A value as a cell."""
    if value is None or isinstance(value, int | float):
        return json.dumps(value) if isinstance(value, bool) else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULA) else text


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


_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; } th, td { border: 1px solid #8886; padding: .25em .75em; text-align: left; }
.good { background: #2a82; } .bad { background: #c332; } .asks { background: #ca32; } .note { color: #777; }
"""


def as_markdown(evaluated: Evaluated) -> str:
    """A table of cases by variants, the comparisons, and the failures."""
    labels = [escaped(variant.label) for variant in evaluated.variants]
    lines = [f"**{escaped(title(evaluated))}**", ""]
    lines += [f"| case | {' | '.join(labels)} |", f"| --- |{' --- |' * len(labels)}"]
    for case in evaluated.cases:
        cells = (cell(variant, case, evaluated.repeat)[0] for variant in evaluated.variants)
        name = ": ".join(filter(None, [case, case_title(evaluated, case)]))
        lines.append(f"| {escaped(name)} | {' | '.join(cells)} |")
    for name, of in totals(evaluated):
        lines.append(f"| {name} | {' | '.join(escaped(of(variant)) for variant in evaluated.variants)} |")
    lines += _listed(with_code(line) for line in verdicts(evaluated))
    several = len(evaluated.variants) > 1
    lines += _listed(
        f"{escaped(variant.label) + ': ' if several else ''}{escaped(line)}"
        for variant, line in failures(evaluated)
    )
    return "".join(f"{line}\n" for line in lines)


def _listed(lines: Iterator[str]) -> list[str]:
    items = [f"* {line}" for line in lines]
    return ["", *items] if items else []


def as_html(evaluated: Evaluated) -> str:
    """A self-contained page: no script, no external resources."""
    name = _text(title(evaluated))
    several = len(evaluated.variants) > 1
    failing = "".join(
        f"<li>{_text(variant.label) + ': ' if several else ''}{_text(line)}</li>\n"
        for variant, line in failures(evaluated)
    )
    sentences = "".join(f"<li>{_text(line)}</li>\n" for line in verdicts(evaluated))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{name}</title>\n<style>\n{_STYLE}</style>\n<h1>{name}</h1>\n<table>\n{_rows(evaluated)}</table>\n"
        + (f"<h2>Compared</h2>\n<ul>\n{sentences}</ul>\n" if sentences else "")
        + (f"<h2>Failed</h2>\n<ul>\n{failing}</ul>\n" if failing else "")
        + "</html>\n"
    )


def _rows(evaluated: Evaluated) -> str:
    head = "".join(f"<th>{_text(variant.label)}</th>" for variant in evaluated.variants)
    rows = [f"<tr><th>case</th>{head}</tr>\n"]
    for case in evaluated.cases:
        cells = []
        for variant in evaluated.variants:
            text, shade = cell(variant, case, evaluated.repeat)
            runs = " ".join(trial.run for trial in variant.trials if trial.case == case)
            cells.append(f'<td class="{shade}" title="{_text(runs)}">{_text(text)}</td>')
        rows.append(
            f"<tr><th>{_text(case)}<br><small>{_text(case_title(evaluated, case))}</small></th>{''.join(cells)}</tr>\n"
        )
    for name, of in totals(evaluated):
        cells = [f"<td>{_text(of(variant))}</td>" for variant in evaluated.variants]
        rows.append(f"<tr><th>{name}</th>{''.join(cells)}</tr>\n")
    return "".join(rows)


def _text(text: str) -> str:
    return escape(shown(text))
