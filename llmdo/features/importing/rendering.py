"""The report of an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place, shown
from llmdo.render.findings import concise

if TYPE_CHECKING:
    from llmdo.features.importing.workspace import Imported


def report(done: Imported, folder: str) -> str:
    """The written files, the parts that could not be carried over, each with its place, and the differences."""
    lines = [f"wrote {len(done.paths)} files to {shown(folder)}"]
    if done.remarks:
        lines.append("changed, or not carried over:")
        lines += [f"  {place(remark.at)}: {shown(remark.text)}" for remark in done.remarks]
    for title, differences in (("wider", done.wider), ("narrower", done.narrower)):
        if differences:
            lines += [
                f"{title} than the original:",
                *(f"  {shown(difference)}" for difference in differences),
            ]
    if not done.wider and not done.narrower:
        lines.append("every worker reaches what its agent reached")
    lines += [f"check says: {concise((finding,))}".rstrip() for finding in done.findings]
    return "\n".join(lines) + "\n"
