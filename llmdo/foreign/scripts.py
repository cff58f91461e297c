"""The commands of a shell script, the hosts that they connect to, and whether it runs what it downloads.

All as far as its text tells.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_LENGTH = 100_000  # characters: more is no script that somebody wrote into a workflow
MAX_NESTING = 20
EXPRESSION = "${{}}"
"""The replacement of `${{ }}` in a command."""

_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_HEREDOC = re.compile(r"<<-?[ \t]*['\"]?([A-Za-z_]\w*)['\"]?")
_KEYWORDS = frozenset(
    {"!", "{", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nohup", "then", "time", "until", "while"}
)  # fmt: skip
_LAUNCHERS = frozenset({"bunx", "npx", "pnpx", "sudo", "timeout", "uvx", "xargs"})
_SHELLS = frozenset({"bash", "sh", "zsh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_HARNESS = re.compile(r"_(?:driver|harness)\.c?js$")
"""A script of gh-aw that runs the program after it."""
_TIME = re.compile(r"[\d.]+[smhd]?")

_DOWNLOADERS = frozenset(
    {"aria2c", "curl", "http", "https", "invoke-restmethod", "invoke-webrequest", "irm", "iwr", "wget", "xh"}
)
_CONNECTING = frozenset(
    {"ftp", "gh", "nc", "ncat", "netcat", "rsync", "scp", "sftp", "socat", "ssh", "telnet"}
)
"""Programs that connect to a host which no address in their arguments names."""
_BRINGING = _CONNECTING - {"gh", "rsync", "scp", "sftp", "ssh"}
"""Those that may bring what anybody wrote; the others bring what is on a machine of one's own."""
_OF_ONESELF = frozenset(
    {
        "--version", "auth", "close", "comment", "config", "create", "delete", "edit", "help", "lock", "merge", "ready",
        "reopen", "review", "secret", "set", "unlock", "upload", "variable", "version",
    }
)  # fmt: skip
"""Commands of `gh` that write, or are about whoever is logged in."""
_STATES = frozenset(
    {
        "attempt", "closed", "closedAt", "conclusion", "createdAt", "databaseId", "event", "headSha", "id", "isDraft",
        "mergeable", "mergedAt", "number", "startedAt", "state", "status", "updatedAt", "url",
    }
)  # fmt: skip
"""Fields of `gh ... --json` that nobody writes."""
_OVER_THE_NETWORK = frozenset({"clone", "fetch", "ls-remote", "pull", "push"})
"""Commands of git."""
_EVALUATING = frozenset({"iex", "invoke-expression"})
_INTERPRETERS = _SHELLS | _EVALUATING | {
    ".", "ash", "bun", "dash", "deno", "fish", "ksh", "node", "perl", "php", "powershell",
    "pwsh", "python", "ruby", "source",
}  # fmt: skip
_INLINE = {
    "bun": re.compile("-[ep]|--eval|--print"), "node": re.compile("-p?e|-p|--eval|--print"),
    "perl": re.compile("-[A-Za-z0-9]*[eE]"), "php": re.compile("-[rR]"), "python": re.compile("-[A-Za-z]*[cm]"),
    "ruby": re.compile("-[A-Za-z]*e"),
}  # fmt: skip
"""The options of interpreters before a program, or the name of one."""
_EVALUATES = re.compile(r"\b(?:compile|eval|exec|Function|instance_eval|system)\b")
_VALUED = frozenset({"-I", "-W", "-X", "-d", "-r", "--init-file", "--rcfile", "--require"})
"""Options of interpreters that take the next word."""
_SAVES = frozenset({"-O", "-o", "--output", "--output-document", "-outfile"})
_SUBSTITUTED = re.compile(
    r"""\b(?:eval|source|(?:ba|da|k|z)?sh|python3?|node|perl|ruby)\s[^|;&\n]{0,80}?(?:<\(|`)\s*(?:curl|wget)\b
    |\b(?:iex|invoke-expression)\b[^|;&\n]{0,200}?\b(?:downloadstring|irm|iwr|invoke-(?:restmethod|webrequest))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REDIRECTED = re.compile(r"\b(?:curl|wget)\b[^|;&\n]{0,300}?(?<![<>&])>\s{0,4}([\w./-]{1,200})")
_ADDRESS = re.compile(
    r"^[ \t]*(?:export[ \t]+|readonly[ \t]+)?(?P<name>[A-Za-z_]\w{0,63})=(?P<quote>[\"']?)"
    r"(?P<address>https?://[\w.-]+(?:[/:][\w./:%?=&-]*)?)(?P=quote)[ \t]*$",
    re.MULTILINE,
)
"""A variable that is set to an address."""
_SET = re.compile(r"\b([A-Za-z_]\w*)=")
_USED = re.compile(r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9])?|\[?[0-9a-f:.]{2,45}\]?")


def commands(script: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """The commands, each from its program on: prefixes such as `timeout 600` are left out."""
    text = _without_documents(_EXPRESSION.sub(EXPRESSION, script[:MAX_LENGTH]))
    scanner = _ScriptScanner(text.replace("\\\n", " "))
    scanner.script()
    for words in scanner.commands:
        yield from _from_program(words, depth)


def host_of(address: str) -> str | None:
    """The host of an address; None if the text does not say it."""
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    except ValueError:
        return None
    return host if _HOST.fullmatch(host) else None


def hosts(script: str) -> Iterator[str | None]:
    """The hosts that commands connect to; None for one that the text does not say."""
    for words in commands(_with_addresses(script)):
        program = _name(words[0])
        if program in _DOWNLOADERS:
            addresses = [word for word in words[1:] if "://" in word]
            yield from map(host_of, addresses or [""])
        elif program == "gh":
            yield "github.com"
        elif program in _CONNECTING or (program == "git" and not _OVER_THE_NETWORK.isdisjoint(words[1:])):
            yield None


def _with_addresses(script: str) -> str:
    """The script with an address in place of each variable that it sets just once, and to that address."""
    script = script[:MAX_LENGTH]
    times = Counter(match[1] for match in _SET.finditer(script))
    once = {
        match["name"]: match["address"] for match in _ADDRESS.finditer(script) if times[match["name"]] == 1
    }

    def address_of(match: re.Match[str]) -> str:
        return once.get(match["bare"] or match["braced"], match[0])

    return _USED.sub(address_of, script) if once else script


def brings_words(script: str) -> bool:
    """Whether commands fetch what somebody wrote at a host that the text does not name, or at GitHub.

    git prints nothing of the kind, but for what it clones; nor does a copy from another machine, or a write to GitHub.
    """
    for words in commands(_with_addresses(script)):
        program = _name(words[0])
        if program in _DOWNLOADERS:
            if None in hosts(shlex.join(words)):
                return True
        elif program == "gh":
            if _OF_ONESELF.isdisjoint(words[1:3]) and not _shows_states(words):
                return True
        elif program in _BRINGING or (program == "git" and "clone" in words[1:]):
            return True
    return False


def _shows_states(words: Sequence[str]) -> bool:
    """Whether a command of `gh` shows numbers, states and addresses alone."""
    shown = next((value for flag, value in pairwise(words) if flag == "--json"), None)
    return words[1:3] == ("run", "watch") if shown is None else _STATES.issuperset(shown.split(","))


def runs_downloads(script: str, depth: int = 0) -> bool:
    """Whether the script runs a program that it has just downloaded."""
    text = _without_documents(script[:MAX_LENGTH]).replace("\\\n", " ")
    scanner = _ScriptScanner(text)
    scanner.script()
    is_fed = was_download = False
    saved = set(_spelt(_REDIRECTED.findall(text)))
    for words, is_piped in zip(scanner.commands, scanner.piped, strict=True):
        is_shell = _name(words[0]) in _SHELLS and "-c" in words[:-1]
        if is_shell and depth < MAX_NESTING and runs_downloads(words[words.index("-c") + 1], depth + 1):
            return True
        program, *rest = next(_from_program(words, depth), ("",))
        name = _name(program)
        is_fed = is_fed and is_piped
        if (is_fed and name in _INTERPRETERS and _reads_its_program(name, rest)) or (
            was_download and program.startswith(EXPRESSION)
        ):
            return True
        if program in saved or (name in _INTERPRETERS and not saved.isdisjoint(rest)):
            return True
        was_download = name in _DOWNLOADERS
        is_fed = is_fed or was_download
        if was_download:
            saved.update(_spelt(each for option, each in pairwise(rest) if option.lower() in _SAVES))
    names = {_name(words[0]) for words in scanner.commands}
    return not names.isdisjoint(_DOWNLOADERS | _EVALUATING) and bool(_SUBSTITUTED.search(text))


def _reads_its_program(interpreter: str, arguments: Sequence[str]) -> bool:
    """Whether an interpreter runs what is on its standard input, rather than handing it to a program that it names."""
    inline, is_value = _INLINE.get(interpreter), False
    for number, word in enumerate(arguments):
        if is_value or (interpreter in ("bun", "deno") and word == "run"):
            is_value = False
        elif inline and inline.fullmatch(word):
            return bool(_EVALUATES.search(" ".join(arguments[number + 1 : number + 2])))
        elif word in ("-", "-s", "/dev/stdin") or interpreter in _EVALUATING:
            return True
        elif word.startswith(("-", "+")):
            is_value = word in _VALUED or (interpreter not in _INLINE and word.endswith("o"))
        else:
            return False
    return True


def _spelt(files: Iterable[str]) -> Iterator[str]:
    """Files as commands may name them."""
    for file in files:
        yield from (file.removeprefix("./"), f"./{file.removeprefix('./')}")


def _name(program: str) -> str:
    """The name of a program, without its folder, its version and the ending that Windows gives it."""
    return program.rpartition("/")[2].lower().removesuffix(".exe").rstrip("0123456789.") or program


def _without_documents(script: str) -> str:
    """The script without the text of here-documents, which is no command."""
    return "\n".join(_HEREDOC.sub(" ", line) for line, _ in lines_with_documents(script))


def lines_with_documents(script: str) -> Iterator[tuple[str, str | None]]:
    """Each line of a script, with the text of the here-document that it opens; None without one."""
    lines = script.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        ends.setdefault(line.strip(), []).append(number)
    number = 0
    while number < len(lines):
        opened = _HEREDOC.search(lines[number])
        after = ends.get(opened[1], []) if opened else []
        place = bisect(after, number)
        end = after[place] if place < len(after) else number
        yield lines[number], "\n".join(lines[number + 1 : end]) if end > number else None
        number = end + 1


def _from_program(words: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    start = 0
    while start < len(words) and (words[start] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[start])):
        start += 1
    words = words[start:]
    if not words or depth > MAX_NESTING:
        return
    program = words[0].rpartition("/")[2]
    if program in _SHELLS and "-c" in words[:-1]:
        yield from commands(words[words.index("-c") + 1], depth + 1)
    elif program in _LAUNCHERS:
        rest = words[1:]
        while rest and (rest[0].startswith("-") or _TIME.fullmatch(rest[0])):
            rest = rest[1:]
        yield from _from_program(rest, depth + 1)
    elif words[1:2] and _HARNESS.search(words[1]):
        yield from _from_program(words[2:], depth + 1)
    else:
        yield tuple(words)
        if "--" in words[1:-1]:  # what runs another program
            rest = words[words.index("--", 1) + 1 :]
            is_line = len(rest) == 1 and " " in rest[0]  # which it gives to a shell
            yield from commands(rest[0], depth + 1) if is_line else _from_program(rest, depth + 1)


class _ScriptScanner:
    """Splits a script into the words of its commands; those of `$( )` are commands of their own."""

    def __init__(self, text: str) -> None:
        self.commands: list[list[str]] = []
        self.piped: list[bool] = []
        """Whether each command reads what the one before it prints."""
        self._text = text
        self._at = 0

    def script(self, end: str = "", depth: int = 0) -> None:
        """Reads up to `end`, and over it."""
        words: list[str] = []
        word: list[str] | None = None
        skips = False
        joint = ""
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == end:
                break
            if character in " \t\r\n;|&<>`" or (character == "#" and word is None):
                if word is not None:
                    if not skips:
                        words.append("".join(word))
                    word, skips = None, False
                skips = self._between(character, words) or (skips and character in " \t\r")
                if character in "\n;|&`":
                    self._add(words, joint)
                    words, joint = [], character if words else joint + character.strip()
                continue
            word = [] if word is None else word
            word.append(self._piece(character, depth))
        if word is not None and not skips:
            words.append("".join(word))
        self._at += 1
        self._add(words, joint)

    def _add(self, words: list[str], joint: str) -> None:
        """Adds a command, if there is one, after the signs that part it from the one before."""
        if words:
            self.commands.append(words)
            self.piped.append(joint in ("|", "|&"))

    def _between(self, character: str, words: list[str]) -> bool:
        """Reads the text between words; whether the next word is the file of a redirection."""
        if character == "#":
            line_end = self._text.find("\n", self._at)
            self._at = len(self._text) if line_end < 0 else line_end
            return False
        self._at += 1
        if character in "<>":
            while self._text[self._at : self._at + 1] in ("<", ">", "&") and self._at < len(self._text):
                self._at += 1
            if words and words[-1] in ("1", "2"):
                words.pop()
            return True
        return False

    def _piece(self, character: str, depth: int) -> str:
        """A piece of a word, without its quotes."""
        text, at = self._text, self._at
        if character == "'" and (closing := text.find("'", at + 1)) > 0:
            self._at = closing + 1
            return text[at + 1 : closing]
        if character == '"':
            return self._quoted(depth)
        if character == "\\":
            self._at += 2
            return text[at + 1 : at + 2].strip("\n")
        if depth < MAX_NESTING and (character == "(" or text.startswith("$(", at)):
            self._at += 1 if character == "(" else 2
            self.script(")", depth + 1)
            return "" if character == "(" else EXPRESSION
        self._at += 1
        return character

    def _quoted(self, depth: int) -> str:
        pieces: list[str] = []
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                break
            if character == "\\" or (depth < MAX_NESTING and self._text.startswith("$(", self._at)):
                pieces.append(self._piece(character, depth))
            else:
                pieces.append(character)
                self._at += 1
        return "".join(pieces)
