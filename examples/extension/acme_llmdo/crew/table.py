"""What the tools of a crew can do."""

from llmdo.foreign.lines import Line

_MANUAL = "the manual of Acme, page 7"

TABLE = (
    Line("browse", ("data.untrusted", "net.connect"), "allowed", "declared", _MANUAL),
    Line("delete", ("fs.delete",), "needs_approval", "declared", _MANUAL),
)
