"""The names that the hints of findings propose, written in place of others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place
from tests.support.edited_files import Edited, NotMadeError
from tests.support.hint_changes import names_in, take

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic


def stretch(files: Edited, each: Diagnostic) -> tuple[str, int, int]:
    """The file of a finding, and the start and the end of what is marked in it."""
    path, start = files.at(place(each.at))
    span = each.at.span
    if start is None or span is None:
        raise NotMadeError("no line")
    _, end = files.at(f"{path}:{span.end_line}:{span.end_column}")
    return path, start, end or start


def _meant_before(files: Edited, each: Diagnostic) -> str:
    """The name of a message that is marked at its place, or else its first one."""
    path, start, end = stretch(files, each)
    marked, names = files.text(path)[start:end], names_in(each.message)
    return next((name for name in names if name in marked), names[0])


def reworded(files: Edited, each: Diagnostic, before: str, after: str) -> None:
    """Writes a name in place of another one at the place of a finding."""
    path, start, end = stretch(files, each)
    text = files.text(path)
    at = text.find(before, start, max(end, start + len(before)))
    if at < 0:
        raise NotMadeError(f"no {before} at its place")
    files.put(path, at, at + len(before), after)


def meant(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    reworded(files, each, _meant_before(files, each), match["new"])


def named(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a name for one of those in the message that are at the place."""
    path, start, end = stretch(files, each)
    marked, new = files.text(path)[start:end], match.groupdict().get("new") or names_in(each.hint or "")[-1]
    if "HOST" in new or "FOLDER" in new or "PROVIDER" in new:
        new = new.replace("HOST", "example.com").replace("FOLDER", "a").replace("PROVIDER", "acme")
    quoted = new.strip('"')
    if re.match(r'"\w+": ', new):
        files.set_pair(path, files.chain(path, start)[-1], new)
        return
    before = next((name for name in names_in(each.message) if name in marked), marked.strip("\"'"))
    reworded(files, each, before, quoted)


def several(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    for new, before in re.findall(r"`([^`]+)` for `([^`]+)`", match["all"]):
        path, start, end = stretch(files, each)
        holder = next(
            (
                own
                for own in reversed(files.chain(path, start))
                if own.name in ("agents", "claude_args", "tools")
            ),
            None,
        )
        first, last = (
            (start, end) if holder is None else (holder.value.start_mark.index, files.end(path, holder.value))
        )
        at = re.compile(rf"(?<!\w){re.escape(before)}(?!\w)").search(files.text(path), first, last)
        if at is None:
            raise NotMadeError(f"no {before} there")
        files.put(path, at.start(), at.end(), new)
    for name in names_in(match["rest"] or ""):
        take(files, place(each.at), "tools", name)


def of_server(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the names of tools of a server with the server before them, wherever the finding is."""
    del match
    new, bare = names_in(each.hint or "")[-1], names_in(each.message)
    server = new.rpartition("/")[0]
    for name in bare:
        if "/" not in name and name != server:
            for at in (each.at, *(other.at for other in each.related)):
                text, (path, start) = files.text(at.path), files.at(place(at))
                for word in re.finditer(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", text):
                    if start is None or word.start() >= text.rfind("\n", 0, start):
                        files.put(path, word.start(), word.end(), f"{server}/{_short(name, server, new)}")
                        break


def _short(name: str, server: str, new: str) -> str:
    """The name of a tool without a prefix that names its server."""
    own = new.rpartition("/")[2]
    return own if name.endswith(own) else name.rpartition(f"{server.lower()}_")[2]


def prefixed(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes the name of a server's tools with that of its plugin."""
    path, start, end = stretch(files, each)
    begins = match["new"].removesuffix("TOOL").removesuffix("__")
    old = re.compile(r"mcp__[\w-]+?(?=__|\b)").search(files.text(path), start, end)
    if old is None:
        raise NotMadeError("no tool of a server there")
    files.put(path, old.start(), old.end(), begins)


def only_json(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes what is no JSON out: comments, and commas at the end of lists and tables, as far as a hint names them."""
    path, text = each.at.path, files.text(each.at.path)
    texts = r'(?P<text>"(?:[^"\\\n]|\\.)*")'
    left = text
    if "comment" in match[0]:
        left = re.sub(texts + r"|//[^\n]*|(?s:/\*.*?\*/)", lambda part: part["text"] or "", left)
    if "`,`" in match[0]:
        left = re.sub(texts + r"|,(?=\s*[\]}])", lambda part: part["text"] or "", left)
    files.put(path, 0, len(text), left)
