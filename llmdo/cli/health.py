"""`llmdo doctor`: what is here, what is in force, what is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

from llmdo.cli.console import FINDINGS, FINE, put, root_folder
from llmdo.render import doctor as render
from llmdo.services import doctor
from llmdo.workspace.reading import MANIFEST


def show(project: str | None, *, as_json: bool) -> int:
    """Prints what was found; what this workspace needs and lacks makes it fail."""
    items = list(doctor.examine(_root(project), os.environ))
    if as_json:
        put(json.dumps(render.document(items), indent=2), as_json=True)
    else:
        put("\n".join(render.lines(items)))
    return FINDINGS if any(item.problem for item in items) else FINE


def _root(project: str | None) -> Path | None:
    """The workspace's root; None outside of any."""
    here = Path.cwd()
    is_named = project is not None or os.environ.get("LLMDO_PROJECT")
    if is_named or any((folder / MANIFEST).is_file() for folder in (here, *here.parents)):
        return root_folder(project)
    return None
