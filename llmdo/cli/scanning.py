"""`llmdo scan`, without the command-line library: it is the first command that people run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, get_args

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.cli.console import FINDINGS, FINE, put, screen
from llmdo.extensions.registry import features, module_with
from llmdo.render import scan as render
from llmdo.services import foreign as service
from llmdo.services.foreign import ScanRequest

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """The options of `llmdo scan`."""

    request: ScanRequest
    format: render.Form = "text"


class SurveyCommand(Protocol):
    """The scan of many projects, as a module of an extension."""

    def scan(self, options: ScanOptions, many: str) -> int:
        """Scans the projects of the list `many` and returns the exit code."""


def parse(words: Sequence[str]) -> ScanOptions | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    folders: list[str] = []
    fail_on: list[str] = []
    form = "text"
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            folders.append(word)
            continue
        value = value if equals else next(waiting, "")
        if name == "--fail-on" and value:
            fail_on.append(value)
        elif name == "--format" and value in get_args(render.Form):
            form = value
        else:
            return None
    if len(folders) > 1:
        return None
    request = ScanRequest(folder=folders[0] if folders else ".", fail_on=tuple(fail_on))
    return ScanOptions(request=request, format=form)  # type: ignore[arg-type]  # it was looked at


def scan(options: ScanOptions) -> int:
    """Scans, prints the page and returns the exit code."""
    if (many := options.request.many) is not None:
        survey = module_with((each.survey for each in features()), "scans of many projects")
        return cast("SurveyCommand", survey).scan(options, many)
    if options.request.to is not None:
        raise LlmdoError("`--to` needs `--many`")
    outcome = service.scan(options.request)
    text = render.rendered(outcome, options.format, screen())
    put(text, end="", as_json=options.format == "json", is_drawn=options.format == "text")
    return FINDINGS if outcome.failing else FINE
