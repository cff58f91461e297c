"""The content of a team in one file: the keys of a manifest and of workers, and the prompts.

The keys of `[workspace]` stand at its top, and `team` is the name. What is about several machines, about agents of
other tools and about other files with workers needs a workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from llmdo.formats.documents import ManifestFile, WorkspaceTable
from llmdo.formats.fields import Doc, Name, Text
from llmdo.formats.tables import derived
from llmdo.formats.worker import WorkerHeader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

    AgentOfTeam = Mapping[str, Json]
    TeamFile = Mapping[str, Json]
else:
    _LEFT_OUT = {
        "extensions", "from", "keep-batches-days", "name", "notify", "schedules", "schema", "shared", "store", "tool",
        "workers", "workspace",
    }  # fmt: skip

    AgentOfTeam = derived(
        "AgentOfTeam",
        (WorkerHeader,),
        {"name"},
        {"prompt": Annotated[Text, Doc("What it is told. In `team.md` the text below `## NAME`.")]},
    )

    TeamFile = derived(
        "TeamFile",
        (WorkspaceTable, ManifestFile),
        _LEFT_OUT,
        {
            "team": Annotated[Name, Doc("The name of the team. It is the first key of the file.")],
            "agents": Annotated[
                dict[Name, AgentOfTeam],
                Doc("The agents by their names, each with the keys of a worker. `run` starts the first."),
            ],
        },
    )
    """`team.yaml`, and the header of `team.md`."""
