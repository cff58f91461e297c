"""Writing into a workspace on a person's behalf: `init`, `add` and `remove`.

* `adoption`: projects of other tools in a folder -> a manifest that names them
* `unfolding`: a team in one file -> the workspace of it
* `template`: a folder of `templates/` -> a new workspace
* `edit`: one change of `llmdo.toml` and the worker files, refused if a name would dangle
* `servers`: MCP servers, from a command line or from the file of a client
* `manifest`: `llmdo.toml` as text, judged again before it is written
* `splice`: TOML text -> TOML text, every other byte kept
* `files`: whole files or nothing, and never through a link
"""

from llmdo.scaffold.edit import (
    WorkspaceEdit,
    add_entry,
    add_path,
    add_rule,
    add_toolset,
    add_worker,
    remove_entry,
    remove_path,
    remove_rule,
    remove_toolset,
    remove_worker,
)
from llmdo.scaffold.servers import add_server, import_servers
from llmdo.scaffold.template import init, templates

__all__ = [
    "WorkspaceEdit",
    "add_entry",
    "add_path",
    "add_rule",
    "add_server",
    "add_toolset",
    "add_worker",
    "import_servers",
    "init",
    "remove_entry",
    "remove_path",
    "remove_rule",
    "remove_toolset",
    "remove_worker",
    "templates",
]
