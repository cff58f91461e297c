"""`Graph` to `llmdo.lock` and back, and the changes between two of them.

The lock holds facts per item and nothing that follows from several, so that merges of it are right: no counts, no
digest over everything, no reach. It is compared by meaning and written only when its meaning changed.

History of the format, newest first:

- version 1, revision 1: settings, rules, path map, models, entries, workers, toolsets and their tools, acceptances;
  `[toolsets.shell]` with its presets expanded; the MCP servers' descriptions of their tools, line by line; which
  tools may run twice; which files a toolset imports without its text saying so; the handling of cut-off answers; the
  folder that tools work on; who is notified of how runs end; when entries are started by themselves, and for how long
  a missed time is made up for; how many of their runs a fleet has at a time; the policies that the manifest extends;
  the installed extensions that it names, with the capabilities that they bring; agents of other tools with what their
  settings decide, what starts them, what runs at events, and the files that they were read from; titles of runs.
"""

from llmdo.workspace.lock.drift import Drift, drift
from llmdo.workspace.lock.encoding import encode
from llmdo.workspace.lock.layout import sketch
from llmdo.workspace.lock.state import Locked, dump, facts, read, read_beside, says, supposed_facts, write

__all__ = [
    "Drift", "Locked", "drift", "dump", "encode", "facts", "read", "read_beside", "says",
    "sketch", "supposed_facts", "write",
]  # fmt: skip
