"""What each entry can reach through delegation: every capability, by which path, behind which gate.

Every decision here is one of `authority.decide`, over calls that stand for all the calls there can be: those of
`shapes`. Whatever several entries or several calls share is worked out once, in `analysis` and in `rulings`; `walk`
goes through one tree of calls, `rows` are what it finds, and `depth` tells how long chains get.
"""

from llmdo.reach.analysis import Analysis, entry_ceiling
from llmdo.reach.depth import Depth, depth_of
from llmdo.reach.rows import Hop, Row
from llmdo.reach.walk import Walk

__all__ = ["Analysis", "Depth", "Hop", "Row", "Walk", "depth_of", "entry_ceiling"]
