"""An evaluation as Markdown to post and as an HTML page to keep: text of others is never markup in either."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.features.evaluation.rendering import cell, failures, title, totals, verdicts
from llmdo.render.markdown import escaped, with_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.evaluation.outcome import Evaluated

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
        lines.append(f"| {escaped(case)} | {' | '.join(cells)} |")
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
        rows.append(f"<tr><th>{_text(case)}</th>{''.join(cells)}</tr>\n")
    for name, of in totals(evaluated):
        cells = [f"<td>{_text(of(variant))}</td>" for variant in evaluated.variants]
        rows.append(f"<tr><th>{name}</th>{''.join(cells)}</tr>\n")
    return "".join(rows)


def _text(text: str) -> str:
    return escape(shown(text))
