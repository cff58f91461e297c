"""The lines of a text, and of its header, that the hints of findings propose."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.support.edited_files import Edited, NotMadeError
from tests.support.finding_words import stretch

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic

_LINE_OF_CUT = re.compile(r"the `---` of line (\d+)")
_FENCE = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


def cut_out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes the `---` out that ends a header too early, at the place or in the line that the message names."""
    path, start, end = stretch(files, each)
    text = files.text(path)
    if match["every"]:
        fences = [*re.finditer(r"^---[ \t]*$", text, re.MULTILINE)]
        for dashes in [*re.finditer("---", text[: fences[1].start()])][:0:-1]:
            files.put(path, dashes.start(), dashes.end(), "")
        return
    if named := _LINE_OF_CUT.search(each.message):
        lines = text.splitlines(keepends=True)
        start = sum(map(len, lines[: int(named[1]) - 1]))
        end = start + len(lines[int(named[1]) - 1])
    at = text.find("---", start, end)
    if at < 0:
        raise NotMadeError("no `---` there")
    line = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)].strip()
    files.put(path, at, at + (3 if line.strip("-") else len(line) + 1), "")


def own_line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, end = stretch(files, each)
    files.put(path, start, end, "\n---\n")
    del match


def blank_out(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    del match
    path, text = each.at.path, files.text(each.at.path)
    own = re.match(r"\s*---\s*", text)
    if own is None:
        raise NotMadeError("no `---` there")
    files.put(path, 0, own.end(), "---\n")


def first_line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes `---` in place of a first line of other dashes, and a line into the header if the hint has one."""
    path, text = each.at.path, files.text(each.at.path)
    line = f"{match['line']}\n" if match.groupdict().get("line") else ""
    files.put(path, 0, text.find("\n") + 1, f"---\n{line}")


def opened(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Opens a header above the first line of its file, and writes a line into it."""
    files.text(each.at.path)
    files.put(each.at.path, 0, 0, f"---\n{match['line']}\n")


def moved_down(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Moves what stands above a header below it, and writes a line into it if the hint has one."""
    path, text = each.at.path, files.text(each.at.path)
    fences = [*_FENCE.finditer(text)]
    if len(fences) < 2:
        raise NotMadeError("no header")
    top, (first, last) = text[: fences[0].start()], fences[:2]
    line = f"{match['line']}\n" if match.groupdict().get("line") else ""
    header = f"{text[first.start() : last.start()]}{line}---\n"
    files.put(path, 0, len(text), f"{header}{top}{text[last.end() :]}")


def unwrapped(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes the first and the last line of a file out, and writes a line into its header if the hint has one."""
    path, text = each.at.path, files.text(each.at.path)
    _, *lines = text.rstrip("\n").split("\n")
    line = [match["line"]] if match.groupdict().get("line") else []
    files.put(path, 0, len(text), "\n".join([lines[0], *line, *lines[1:-1], ""]))


def indented_less(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Indents a line, and those below it that are as deep, as the key above it."""
    del match
    path, start, _ = stretch(files, each)
    lines = files.text(path).split("\n")
    number = files.text(path).count("\n", 0, start)
    own = len(lines[number]) - len(lines[number].lstrip())
    above = re.compile(r" *(?:- +)?").match(lines[number - 1])
    if above is None:
        raise NotMadeError("no key above it")
    end = number + 1
    while lines[end].startswith(" " * own):
        end += 1
    moved = [line[own - above.end() :] for line in lines[number:end]]
    files.put(path, 0, len(files.text(path)), "\n".join([*lines[:number], *moved, *lines[end:]]))


def joined(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Makes one header of two: what ends the first, and what begins the second, goes; one line may be both."""
    del match
    path, text = each.at.path, files.text(each.at.path)
    fences = [*_FENCE.finditer(text)]
    if len(fences) < 3:
        raise NotMadeError("no second header")
    is_one = bool(text[fences[1].end() : fences[2].start()].strip())
    files.put(path, fences[1].start(), fences[1 if is_one else 2].end(), "")


def in_quotes(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Puts the text of a line in quotes, from behind its key to its end; of JSON what is at the place alone."""
    del match
    path, start, end = stretch(files, each)
    text = files.text(path)
    if path.endswith((".json", ".jsonc")):
        files.put(path, start, end, json.dumps(text[start:end]))
        return
    first, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    end = len(text) if end < 0 else end
    own = re.compile(r"[^\s:]+(?=:(?: |$))", re.MULTILINE).match(text, start, end)
    if own and "cannot start" in each.message:
        files.put(path, start, own.end(), json.dumps(own[0]))
        return
    if path.endswith(".toml"):
        head = re.compile(r"[^=]*=\s*").match(text, first, end)
    else:
        head = re.compile(r"\s*(?:- )?\"?[\w-]+\"?:\s+|\s*- ").match(text, first, end)
    if head is None:
        raise NotMadeError("no key in that line")
    files.put(path, head.end(), end, json.dumps(text[head.end() : end].rstrip(), ensure_ascii=False))


def all_in_quotes(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Puts the text of a line, with the indented lines below it, in double quotes."""
    del match
    path, start, _ = stretch(files, each)
    text = files.text(path)
    first = text.rfind("\n", 0, start) + 1
    whole = re.compile(r"[\w-]+: +(?P<text>.*(?:\n+ .*)*)").match(text, first)
    if whole is None:
        raise NotMadeError("no key in that line")
    escaped = whole["text"].replace('"', '\\"')
    files.put(path, whole.start("text"), whole.end(), f'"{escaped}"')


def behind_key(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a list behind the key above it, in the same line."""
    del match
    path, _, end = stretch(files, each)
    text = files.text(path)
    first = text.index("\n[", end)
    files.put(path, text.index(":", end - 1) + 1, first + 1, " ")


def unquoted(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Takes every quote out of the value in the line of a finding."""
    del match
    path, start, _ = stretch(files, each)
    text = files.text(path)
    first, last = text.find(":", text.rfind("\n", 0, start)), text.find("\n", start)
    files.put(path, first, last, re.sub("[\"']", "", text[first:last]))


def untabbed(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Indents the lines of a header with blanks in place of tabs."""
    del match
    path, text = each.at.path, files.text(each.at.path)
    header = text[: [*_FENCE.finditer(text)][1].start()]
    for tabs in reversed([*re.finditer(r"^\t+", header, re.MULTILINE)]):
        files.put(path, tabs.start(), tabs.end(), "  " * len(tabs[0]))


def above(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, _ = stretch(files, each)
    first = files.text(path).rfind("\n", 0, start) + 1
    files.put(path, first, first, f"{match['line']}\n")


def this_line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, end = stretch(files, each)
    text = files.text(path)
    files.put(path, text.rfind("\n", 0, start) + 1, text.index("\n", end), match["line"])


def below_line(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    lines = files.text(each.at.path).splitlines(keepends=True)
    start = sum(map(len, lines[: int(match["number"])]))
    files.put(each.at.path, start, start, f"{match['line']}\n")


def at_the_top(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, text = each.at.path, files.text(each.at.path)
    first = next(_FENCE.finditer(text))
    files.put(path, first.end(), first.end(), f"{match['line']}\n")


def fence_below(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, text = each.at.path, files.text(each.at.path)
    keys = [*re.finditer(r"^[\w-]+:.*(?:\n[ -].*)*\n", text, re.MULTILINE)]
    files.put(path, keys[-1].end(), keys[-1].end(), f"{match['line']}\n")


def spaced(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a blank behind the colon of each key."""
    path = each.at.path
    if line := match.groupdict().get("line"):
        files.put(
            path, _FENCE.search(files.text(path)).end(), _FENCE.search(files.text(path)).end(), f"{line}\n"
        )
    keys = match.groupdict().get("keys")
    for key in (
        re.findall(r"`([^`]+)`", keys)
        if keys
        else re.findall(r"^(\w+):(?=\S)", files.text(path), re.MULTILINE)
    ):
        end = files.text(path).index(f"\n{key}:") + len(f"\n{key}:")
        files.put(path, end, end, " ")


def in_place_of_text(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a line in place of all that stands in a header."""
    path, text = each.at.path, files.text(each.at.path)
    first, last, *_ = _FENCE.finditer(text)
    files.put(path, first.end(), last.start(), f"{match['line']}\n")


def in_place_of_table(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a line in place of a key with a table, which ends at the next line that is not indented."""
    path, start, end = stretch(files, each)
    text = files.text(path)
    last = re.compile(r"\n(?![ \t])").search(text, end)
    files.put(path, start, last.start() if last else len(text), match["line"])


def deleted(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    path, start, _ = stretch(files, each)
    files.put(path, start, start + len(match["text"]), "")


def escaped(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a backslash twice where the finding has one."""
    del match
    path, start, _ = stretch(files, each)
    at = files.text(path).rfind("\\", 0, start + 1)
    files.put(path, at, at, "\\")
