"""The table of all projects of a survey, which sorts by each of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.features.survey import kinds
from llmdo.features.survey.markup import Markup, element, joined, link, sentence, verbatim
from llmdo.features.survey.markup import document as page
from llmdo.render.amounts import counted
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.features.survey.surveyed import SurveyedProject

COLUMNS = (
    "Repository",
    "Commit",
    "Formats",
    "Agents",
    "Worst without a question",
    "Findings by kind",
    "Asked first",
    "Not read",
)
_NUMBERS = {"Agents", "Asked first", "Not read"}
_SCRIPT = Path(__file__).with_name("static") / "sort.js"

_LEGEND = {
    "Agents": "agents in files of the project; where there are none, the sessions that a person or a workflow starts.",
    "Worst without a question": "the worst that some agent or session may do while nobody is asked. "
    "For most projects that is the point of having an agent.",
    "Findings by kind": "what an owner may want to look at, with the number of places. A finding is no fault: files do "
    "not say what was intended, and the page of a project says for each kind when it is by design.",
    "Asked first": "ways on which a person is asked before anything happens: by design, and on the page as such.",
    "Not read": "files, or parts of them, of which llmdo says nothing. An empty row is no praise.",
}


def document(projects: Sequence[SurveyedProject]) -> str:
    """The page with the table."""
    scanned = [each for each in projects if not each.problem]
    agents = sum(each.agents for each in scanned)
    left_out = len(projects) - len(scanned)
    return page(
        "What agents of public repositories can reach",
        element("h1", "What agents of public repositories can reach"),
        element(
            "p",
            f"{counted(len(scanned), 'repository').replace('repositorys', 'repositories')} at fixed commits, with "
            f"{counted(agents, 'agent')}, read from their files by llmdo {__version__}. Nothing of them was run, and "
            "llmdo enforces nothing there.",
            *([f" {counted(left_out, 'row')} could not be read and say why."] if left_out else []),
            class_="lead",
        ),
        element(
            "p",
            "The order is that of names; each heading sorts by its column. The table compares nobody: who has more "
            "agents has more of everything, and what a project means to allow is for its owners to say.",
            class_="lead",
        ),
        element(
            "div",
            _table(projects),
            class_="scrolls",
            tabindex="0",
            role="region",
            aria_label="All repositories",
        ),
        element("p", class_="unseen", role="status", id="sorted"),
        _legend(projects),
        _repeating(),
        script=_SCRIPT.read_text(encoding="utf-8"),
    )


def _table(projects: Sequence[SurveyedProject]) -> Markup:
    heads = [_head(column) for column in COLUMNS]
    return element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *map(_row, projects)),
    )


def _head(column: str) -> Markup:
    sort = "ascending" if column == COLUMNS[0] else "none"
    style = "number" if column in _NUMBERS else "words"
    return element("th", element("button", column, type="button"), scope="col", aria_sort=sort, class_=style)


def _row(project: SurveyedProject) -> Markup:
    listed = project.listed
    name = listed.repository
    head = link(f"projects/{listed.page}", name) if project.page else name
    cells = [
        element("th", head, scope="row"),
        element(
            "td", link(f"{listed.address}/tree/{listed.commit}", verbatim(listed.short)), class_="commit"
        ),
    ]
    if project.problem:
        hint = joined([" ", sentence(project.hint), "."]) if project.hint else ""
        rest = element("td", element("em", sentence(project.problem)), ".", hint, colspan="6", data_key="")
        return element("tr", *cells, rest, class_="unread")
    findings = sum(number for _, number in project.kinds)
    return element(
        "tr",
        *cells,
        element("td", ", ".join(project.formats) or "none"),
        _number(project.agents),
        element("td", ", ".join(project.unasked) or "nothing", class_="worst"),
        element("td", *map(_kind, project.kinds), data_key=str(findings), class_="kinds"),
        _number(project.asked),
        _number(project.unread),
    )


def _kind(kind: tuple[str, int]) -> Markup:
    code, number = kind
    return joined([element("span", kinds.kind(code).name, f" {number:,}", class_="tag"), " "])


def _number(number: int) -> Markup:
    return element("td", f"{number:,}", data_key=str(number), class_="number" if number else "number zero")


def _legend(projects: Sequence[SurveyedProject]) -> Markup:
    codes = sorted({code for each in projects for code, _ in each.kinds})
    columns = [joined([element("dt", name), element("dd", text)]) for name, text in _LEGEND.items()]
    of_kinds = [
        joined(
            [
                element("dt", f"{kinds.kind(code).name} (", element("code", code), ")"),
                element("dd", sentence(kinds.meaning(code)), " ", kinds.kind(code).by_design),
            ]
        )
        for code in codes
    ]
    return joined(
        [
            element("h2", "How to read the table"),
            element("dl", *columns),
            *([element("h2", "Kinds of findings"), element("dl", *of_kinds)] if of_kinds else []),
        ]
    )


def _repeating() -> Markup:
    return joined(
        [
            element("h2", "How to repeat it"),
            element(
                "p",
                "Clone the repositories into folders called ",
                verbatim("owner/name"),
                " and run ",
                verbatim("llmdo scan --many list.txt --to NEW-FOLDER"),
                " beside them, with the ",
                link("list.txt", "list"),
                " of this report. It reads git's objects and asks no network; the same list gives the same bytes.",
            ),
        ]
    )
