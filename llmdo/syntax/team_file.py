"""A team in one file to `Document`: YAML as a whole, or Markdown with a header and a heading for each prompt."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from llmdo.base.checking import MAX_OF_A_KIND
from llmdo.base.diagnostic import Related, did_you_mean, excerpt, finding
from llmdo.base.parts import table
from llmdo.base.source import Span
from llmdo.base.values import dataclass, replace
from llmdo.syntax import frontmatter, yaml_file
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.syntax.frontmatter import WorkerText

MARKDOWN = ".md"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"##[ \t]+(.*?)(?:[ \t]+#*)?[ \t]*")


def parse(source: Source) -> Document:
    """The document of the file `source`, each prompt at `agents.NAME.prompt`; its readable part if it has problems."""
    if not source.path.endswith(MARKDOWN):
        return _without_empty(yaml_file.parse(source))
    text = frontmatter.parse(source)
    if text.document.problems:
        return replace(text.document, problems=tuple(map(_of_team, text.document.problems)))
    return _with_prompts(replace(text, document=_without_empty(text.document)))


def _without_empty(document: Document) -> Document:
    """The document, in which an agent with nothing behind its name has no keys."""
    agents = table(document.data, "agents")
    if all(agent is not None for agent in agents.values()):
        return document
    named = {name: {} if agent is None else agent for name, agent in agents.items()}
    return replace(document, data={**document.data, "agents": named})


def _of_team(problem: Diagnostic) -> Diagnostic:
    """A problem of a header, reworded for that of a team."""
    if problem.code != "LDO109" or "a worker" not in problem.message:
        return problem
    return replace(
        problem,
        message="a team in Markdown starts with a header",
        hint="start the file with the lines `---` and `team: NAME`, and end the header with `---`",
    )


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and the text below it."""

    name: str
    heading: Span
    text: Span
    prompt: str


def _with_prompts(text: WorkerText) -> Document:
    """The header, with the text below each heading as the prompt of the agent of that name."""
    document = text.document
    source, agents = document.source, table(document.data, "agents")
    sections: dict[str, _Section] = {}
    problems: list[Diagnostic] = []
    for section in _sections(text):
        at = source.location(section.heading)
        if len(problems) == MAX_OF_A_KIND:
            break
        if section.name not in agents:
            problems.append(_no_agent(document, section))
        elif earlier := sections.get(section.name):
            first = Related(source.location(earlier.heading), "first given here")
            problems.append(finding("LDO101", at, f"`## {section.name}` is given twice", related=[first]))
        elif "prompt" in table(agents[section.name]):
            first = Related(document.key("agents", section.name, "prompt"), "first given here")
            message = f"the prompt of `{section.name}` is given twice"
            problems.append(finding("LDO101", at, message, related=[first]))
        else:
            sections[section.name] = section
    prompts = {
        name: {**table(agents[name]), "prompt": each.prompt}
        for name, each in sections.items()
        if isinstance(agents[name], dict)
    }
    data = {**document.data, "agents": {**agents, **prompts}} if agents else document.data
    places = {("agents", name, "prompt"): (each.heading, each.text) for name, each in sections.items()}
    return Document(source, data, cache(lambda: {**document.index(), **places}), tuple(problems))


def _no_agent(document: Document, section: _Section) -> Diagnostic:
    name = excerpt(section.name)
    hint = did_you_mean(section.name, table(document.data, "agents")) or (
        f"write `### {name}` for a heading of a prompt, or `{name}: {{}}` below `agents`"
    )
    at = document.source.location(section.heading)
    return finding("LDO102", at, f"`## {name}` is no agent of this team", hint=hint)


def _sections(text: WorkerText) -> Iterator[_Section]:
    """Each heading of the second level outside of blocks of code, with the text up to the next one."""
    lines = text.body.split("\n")
    first = text.document.source.text.count("\n", 0, text.start) + 1
    headings = list(_headings(lines))
    ends = [number for number, _ in headings[1:]]
    for (number, name), end in zip(headings, [*ends, len(lines)], strict=True):
        prompt = "\n".join(lines[number + 1 : end]).strip("\n")
        below = next((each for each in range(number + 1, end) if lines[each]), number)
        last = below + prompt.count("\n")
        yield _Section(
            name=name,
            heading=Span(first + number, 1, first + number, len(lines[number]) + 1),
            text=Span(first + below, 1, first + last, len(lines[last]) + 1),
            prompt=f"{prompt}\n" if prompt else "",
        )


def _headings(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The index of each line with a heading, and its name."""
    fence = ""
    for number, line in enumerate(lines):
        if opened := _FENCE.match(line):
            if not fence:
                fence = opened[1]
            elif opened[1].startswith(fence):
                fence = ""
        elif not fence and (heading := _HEADING.fullmatch(line)):
            yield number, heading[1]
