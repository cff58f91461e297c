"""The page about one project, written for its owners."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.features.survey import kinds
from llmdo.features.survey.markup import Markup, element, joined, link, sentence, verbatim
from llmdo.features.survey.markup import document as whole
from llmdo.foreign.legs import where as where_given
from llmdo.render import page, reach
from llmdo.render.amounts import counted
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.features.survey.listed import ListedProject
    from llmdo.foreign.summary import Cause
    from llmdo.render.page import Reached
    from llmdo.services.foreign import ScanOutcome

_IN_BRACKETS = re.compile(r"(?<=[( ])([^\s()]+:[0-9]+:[0-9]+)(?=[),])")
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>[0-9]+)(?::[0-9]+)?")


def document(listed: ListedProject, outcome: ScanOutcome, reached: Sequence[Reached]) -> str:
    """The page about the project."""
    read, summary = outcome.project, outcome.summary
    first, *others = summary.headline
    return whole(
        f"{listed.repository}: what its agents can reach",
        element("p", link("../index.html", "All repositories"), class_="up"),
        element("h1", listed.repository),
        element(
            "p",
            "At commit ",
            link(f"{listed.address}/tree/{listed.commit}", verbatim(listed.short)),
            f", read from its files by llmdo {__version__}: nothing of the project was run, and llmdo enforces "
            "nothing in it.",
            class_="lead",
        ),
        element("p", _placed(listed, first), ".", class_="first"),
        *(element("p", _placed(listed, each), ".") for each in others),
        *_findings(listed, summary.causes),
        *_by_design(listed, outcome),
        *_list("Who may start an agent", map(sentence, page.starters_of_agents(read))),
        *_by_clients(outcome),
        *_reached(listed, outcome, reached),
        *_list("What was read", [sentence(each) for each in page.formats(read)] or ["Nothing."]),
        *_not_read(listed, outcome),
        *_repeating(listed),
    )


def _list(title: str, items: Iterable[str], name: str = "ul") -> Iterator[Markup]:
    lines = [element("li", each) for each in items]
    if lines:
        yield element("h2", title)
        yield element(name, *lines)


def _findings(listed: ListedProject, causes: Sequence[Cause]) -> Iterator[Markup]:
    """The findings, the worst first; further ones can be opened."""
    yield element("h2", "What an owner may want to look at")
    if not causes:
        yield element("p", "Nothing: llmdo has no finding here.")
        return
    first_of = {cause.first.code: cause for cause in reversed(causes)}
    items = [_cause(listed, cause, is_new=first_of[cause.first.code] is cause) for cause in causes]
    yield element("ol", *items[: page.CAUSES], class_="causes")
    if more := items[page.CAUSES :]:
        title = element("summary", counted(len(more), "more finding"))
        yield element("details", title, element("ol", *more, start=str(page.CAUSES + 1), class_="causes"))


def _cause(listed: ListedProject, cause: Cause, *, is_new: bool) -> Markup:
    """A finding; the first of a kind says when such are by design."""
    code = cause.first.code
    gate = f", {cause.gate}" if cause.gate else ""
    lines = [
        element("p", _placed(listed, cause.sentence), ". ", element("span", f"{code}{gate}", class_="tag")),
        *(element("p", _placed(listed, way), class_="way-in") for way in cause.ways),
        element("p", "At ", _places(listed, cause), ".", class_="dim"),
    ]
    if cause.hint:
        lines.append(element("p", element("strong", "To change it: "), _placed(listed, cause.hint), "."))
    if is_new and (by_design := kinds.kind(code).by_design):
        lines.append(element("p", by_design, class_="dim"))
    return element("li", *lines)


def _places(listed: ListedProject, cause: Cause) -> Markup:
    places, more = page.where(cause)
    rest = f" and {more:,} more" if more else ""
    return joined([joined([_place(listed, each) for each in places], by=", "), rest])


def _place(listed: ListedProject, place: str) -> Markup:
    """A place, with a link to its line where it has one."""
    match = _PLACE.fullmatch(place)
    return (
        link(listed.address_of(match["path"], match["line"]), verbatim(place)) if match else joined([place])
    )


def _placed(listed: ListedProject, text: str) -> Markup:
    """A message in which each place in brackets is a link to its line."""

    def linked(words: str) -> Markup:
        pieces = _IN_BRACKETS.split(words)
        return joined(_place(listed, each) if number % 2 else each for number, each in enumerate(pieces))

    return sentence(text, linked)


def _by_design(listed: ListedProject, outcome: ScanOutcome) -> Iterator[Markup]:
    """What a person is asked about first, and what the tools themselves bring along."""
    asked = [
        joined(
            [_placed(listed, cause.sentence), ": a person is asked first. At ", _places(listed, cause), "."]
        )
        for cause in outcome.summary.asked
    ]
    given = [sentence(page.by_default(each)) for each in outcome.summary.defaults]
    yield from _list("By design, and brought along by the tools themselves", [*asked, *given])


def _by_clients(outcome: ScanOutcome) -> Iterator[Markup]:
    lines, more = page.by_clients(outcome.project)
    items = [joined([event, ": ", verbatim(command)]) for event, command in lines]
    rest = [f"{more:,} more"] if more else []
    yield from _list("What clients run by themselves, whatever a model chooses", [*items, *rest])


def _reached(listed: ListedProject, outcome: ScanOutcome, reached: Sequence[Reached]) -> Iterator[Markup]:
    if not reached:
        return
    heads = ("Capability", "Agents and sessions", "Of these without a question", "Shortest way", "Place")
    rows = [
        element(
            "tr",
            element("th", verbatim(line.capability), *_in_words(line), scope="row"),
            element("td", f"{line.agents:,}", class_="number"),
            element("td", f"{line.unasked:,}", class_="number"),
            element("td", verbatim(reach.path(line.best)), class_="long"),
            element("td", _place(listed, where_given(outcome.project, line.best)), class_="long"),
        )
        for line in reached
    ]
    yield element("h2", "What can be reached")
    yield element(
        "div",
        element(
            "table",
            element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
            element("tbody", *rows),
        ),
        class_="scrolls",
        tabindex="0",
        role="region",
        aria_label="What can be reached",
    )


def _in_words(line: Reached) -> Iterator[Markup]:
    name = line.best.capability.name
    if (words := kinds.ability(name)) not in name:
        yield element("div", words, class_="dim")


def _not_read(listed: ListedProject, outcome: ScanOutcome) -> Iterator[Markup]:
    unread = [
        joined([_placed(listed, cause.sentence), ": ", _places(listed, cause)])
        for cause in outcome.summary.unread
    ]
    of_zizmor = [sentence(page.OF_ZIZMOR)] if page.reads_workflows(outcome.project) else []
    yield from _list("What was not read", [*unread, sentence(page.NEVER_READ), *of_zizmor])


def _repeating(listed: ListedProject) -> Iterator[Markup]:
    commands = (
        f"git clone {listed.address}\ncd {listed.repository.partition('/')[2]}\n"
        f"git checkout {listed.commit}\nllmdo scan"
    )
    yield element("h2", "How to repeat it")
    yield element("pre", Markup(commands))
    yield element(
        "p",
        "It runs nothing of the project and asks no network. ",
        verbatim("llmdo reach AGENT CAPABILITY --from auto ."),
        " names the file and the line of each step. What is read wrongly here is a mistake of llmdo.",
    )
