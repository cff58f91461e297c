"""The reach of each entry through delegation: every capability, by which path, behind which gate.

Every decision is one of `authority.decide`, over the calls of `shapes`, which represent all possible calls. Results
that several entries or calls share are computed once, in `analysis` and in `premises`; `walk` goes through one tree of
calls, and `rows` are its results.
"""

from llmdo.reach.analysis import Analysis, Depth, depth_of, entry_ceiling
from llmdo.reach.rows import Hop, Row
from llmdo.reach.walk import Walk

__all__ = ["Analysis", "Depth", "Hop", "Row", "Walk", "depth_of", "entry_ceiling"]
