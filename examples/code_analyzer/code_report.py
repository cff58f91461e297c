"""What was found in a code base, and the report on it. The words of the files stand in it as quotes, inert."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LANGUAGES = {
    "c": "C",
    "cpp": "C++",
    "cs": "C#",
    "go": "Go",
    "h": "C",
    "java": "Java",
    "js": "JavaScript",
    "kt": "Kotlin",
    "php": "PHP",
    "py": "Python",
    "rb": "Ruby",
    "rs": "Rust",
    "sh": "Shell",
    "sql": "SQL",
    "swift": "Swift",
    "ts": "TypeScript",
    "tsx": "TypeScript",
}
"""Ending of a file's name to its language."""
REASONS = {
    "eval(": "runs text as code",
    "exec(": "runs text as code",
    "shell=true": "a command may be built from input",
    "os.system(": "a command may be built from input",
    "innerhtml": "HTML may be built from data",
    "except:": "swallows every error, also that somebody interrupts",
}
SECRET = "may be a secret in the source"
MOST_LISTED = 30  # lines of one section
LONGEST = 5
MOST_QUOTED = 120  # characters


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found."""

    path: str
    line: int
    text: str

    @property
    def shown(self) -> str:
        """The place and the line itself, so that neither can be markup."""
        return f"{inert(f'{self.path}:{self.line}')}: {inert(self.text.strip())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the report says."""

    folder: str
    lines: Mapping[str, int]
    """Lines of each file."""
    todo: tuple[Hit, ...]
    risks: tuple[Hit, ...]
    starts: tuple[Hit, ...]
    """Where functions and classes begin."""
    missed: tuple[str, ...]
    """What was not looked at, and why."""

    @property
    def summary(self) -> str:
        """The size of the code and what was found, in a sentence."""
        size = f"{self.folder}/ has {len(self.lines)} source files with {sum(self.lines.values())} lines"
        return f"{size}; left to do: {len(self.todo)}, worth a look: {len(self.risks)}."


def write_report(findings: Findings, model_name: str) -> str:
    """The report as Markdown."""
    sections = (
        [f"# Code report: {findings.folder}/", "", f"- Written by: {model_name}", f"- {findings.summary}"],
        ["## Size", "", "| language | files | lines |", "| --- | --- | --- |", *_sizes(findings.lines)],
        ["## Longest, in lines", "", *_longest(findings)],
        ["## Left to do", "", *_listed(hit.shown for hit in findings.todo)],
        ["## Worth a look", "", *_listed(f"{hit.shown} ({reason(hit)})" for hit in findings.risks)],
        [
            "## Not looked at",
            "",
            *_listed((*map(inert, findings.missed), "what the code means: rules cannot")),
        ],
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def reason(hit: Hit) -> str:
    """Why a line is worth a look."""
    text = hit.text.lower()
    return next((why for word, why in REASONS.items() if word in text), SECRET)


def inert(text: str) -> str:
    """`text` as code, in one line, with nothing that ends it or that a terminal would interpret."""
    visible = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    short = visible if len(visible) <= MOST_QUOTED else visible[:MOST_QUOTED] + "..."
    return f"`{short.replace('`', chr(39))}`"


def _sizes(lines: Mapping[str, int]) -> Iterator[str]:
    by_language: dict[str, list[int]] = {}
    for path, count in lines.items():
        by_language.setdefault(LANGUAGES[path.rpartition(".")[2].lower()], []).append(count)
    for language, counts in sorted(by_language.items(), key=lambda item: -sum(item[1])):
        yield f"| {language} | {len(counts)} | {sum(counts)} |"


def _longest(findings: Findings) -> Iterator[str]:
    files = sorted(findings.lines.items(), key=lambda item: (-item[1], item[0]))[:LONGEST]
    yield from (f"- {inert(path)}: {count}" for path, count in files)
    lengths = sorted(_lengths(findings), key=lambda item: -item[0])[:LONGEST]
    yield from (f"- {hit.shown}: about {length}" for length, hit in lengths)


def _lengths(findings: Findings) -> Iterator[tuple[int, Hit]]:
    """Each function or class with how far it is to the next one, or to the end of its file."""
    starts = sorted(findings.starts, key=lambda hit: (hit.path, hit.line))
    for hit, after in pairwise((*starts, Hit("", 0, ""))):
        end = after.line if after.path == hit.path else findings.lines.get(hit.path, hit.line) + 1
        yield end - hit.line, hit


def _listed(items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"- and {len(lines) - MOST_LISTED} more"]
    return lines or ["Nothing found."]
