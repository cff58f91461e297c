"""Unknown names in `tools`: each reported once for a project, with the number of files that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, did_you_mean, excerpt, finding
from llmdo.base.values import dataclass, field
from llmdo.features.copilot.tools import NAMES, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.copilot.tools import Tools
    from llmdo.syntax.document import Place

MOST = 3  # names in a message, and further places below it
ELSEWHERE = (
    "it may come with an extension, or from settings of the repository or of a person; else Copilot skips it"
)


@dataclass(slots=True)
class UnknownNames:
    """The undeclared names in the files of a project."""

    _servers: dict[str, list[Place]] = field(default_factory=dict)
    _tools: dict[str, list[Place]] = field(default_factory=dict)
    _near: dict[str, str | None] = field(default_factory=dict)

    def add(self, tools: Tools, named: Iterable[tuple[str, Place]]) -> None:
        """Adds the unknown names among the tools of one file."""
        seen: set[str] = set()
        for name, place in named:
            server = tools.server_of(name)
            unknown = server or name
            if tools.knows(name) or unknown in seen:
                continue
            seen.add(unknown)
            (self._servers if server else self._tools).setdefault(unknown, []).append(place)
            self._near[unknown] = did_you_mean(unknown, (*tools.servers, *SERVERS) if server else NAMES)

    def problems(self) -> Iterator[Diagnostic]:
        """A finding for each server, and for the tools that the same files name."""
        for server, places in self._servers.items():
            yield self._finding(
                f"no file of this project declares the server or extension `{excerpt(server)}`",
                [server],
                places,
            )
        together: dict[tuple[str, ...], list[str]] = {}
        for tool, places in self._tools.items():
            near = (tool,) if self._near[tool] else ()
            together.setdefault((*(place.document.source.path for place in places), *near), []).append(tool)
        for tools in together.values():
            listed = ", ".join(f"`{excerpt(tool)}`" for tool in tools[:MOST])
            more = f" and {len(tools) - MOST} more" if len(tools) > MOST else ""
            noun = "tool" if len(tools) == 1 else "tools"
            message = f"neither Copilot's documentation nor a file of this project mentions the {noun} {listed}{more}"
            yield self._finding(message, tools, self._tools[tools[0]])

    def _finding(self, message: str, names: list[str], places: list[Place]) -> Diagnostic:
        files = f", which {len(places)} files name" if len(places) > 1 else ""
        return finding(
            "LDO250",
            places[0].location,
            message + files,
            hint=next((near for name in names if (near := self._near[name])), ELSEWHERE),
            related=[Related(place.location, "and here") for place in places[1 : MOST + 1]],
        )
