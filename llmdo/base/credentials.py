"""Likely secrets: by name, by the form of a well-known token, by place in an address."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORTEST = 8  # characters: less is an ordinary word or a number too often

LISTED = "LLMDO_SECRETS"
"""The variable that names others, separated by commas, which are secret whatever their names say."""

_SECRET_NAMES = (
    "KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTHORIZATION", "BEARER", "COOKIE", "WEBHOOK",
    "CONNECTION_STRING", "CONNECTIONSTRING",
)  # fmt: skip
_SECRET_ENDINGS = ("PWD", "DSN", "_PASS", "_AUTH", "_PAT")
_FOLDERS = ("PWD", "OLDPWD")

_FORMS = r"""
    \bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}                 # model providers
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                        # AWS
    | \b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})  # GitHub
    | \bglpat-[A-Za-z0-9_-]{16,}                           # GitLab
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                      # Slack
    | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}               # Stripe
    | \bAIza[A-Za-z0-9_-]{30,}                             # Google
    | \b(?:hf|npm)_[A-Za-z0-9]{20,}                        # Hugging Face, npm
    | \bpypi-[A-Za-z0-9_-]{20,}                            # Python packages
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}  # JSON web tokens
    | (?<=://)[^\s/@:"'<>${}]{0,200}:[^\s/@"'<>${}]{8,200}(?=@)  # the user and password of an address
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """


def names_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold a secret."""
    upper = name.upper().replace("-", "_")
    if any(word in upper for word in _SECRET_NAMES) or upper in ("PASS", "AUTH", "PAT"):
        return True
    return upper.endswith(_SECRET_ENDINGS) and upper not in _FOLDERS


def secrets_of(name: str, value: str, *, is_listed: bool = False) -> Iterator[str]:
    """The secret parts of an environment variable, without those too short to differ from ordinary words.

    `is_listed` says that all of it is, whatever its name.
    """
    if (is_listed or names_secret(name)) and name != LISTED and len(value) >= SHORTEST:
        yield value
    for match in _USERINFO.finditer(value):
        password = match[2] if match[1] is not None else ""
        for secret in {password, _unquoted(password)}:
            if len(secret) >= SHORTEST:
                yield secret


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # slow to load, and the check path does not need it

    return unquote(text)


def may_hold_token(text: str) -> bool:
    """Whether a token may be in `text`; a no is certain."""
    # By a single character first, which is quick to look for: `_FORMS` takes a hundred times as long.
    dash, underscore = _marks()
    return (
        ("-" in text and dash.search(text) is not None)
        or ("_" in text and underscore.search(text) is not None)
        or ("A" in text and any(map(text.__contains__, ("AKIA", "ASIA", "AIza"))))
        or ("J" in text and "eyJ" in text)
        or ("@" in text and "://" in text)
    )


def without_tokens(text: str, instead: str) -> str:
    """`text` with `instead` in place of each token of a well-known form."""
    return _forms().sub(instead, text) if may_hold_token(text) else text


class Secret(NamedTuple):
    """The place of a secret in a text, and its name in the text; empty for none."""

    start: int
    end: int
    name: str


_CERTAIN = frozenset(
    {"token", "secret", "password", "passwd", "passphrase", "pwd", "apikey", "bearer", "pat"}
)
_CERTAIN |= {"authorization", "signature", "sig"}
_KEYS = frozenset(
    {"access", "account", "api", "auth", "client", "encryption", "license", "private", "service", "signing"}
)
_UNCERTAIN = frozenset({"auth", "cookie", "credential", "credentials", "dsn", "key", "pass"})
_ABOUT = frozenset(
    {"count", "dir", "endpoint", "env", "expiry", "file", "header", "id", "length", "limit", "name", "path"}
    | {"policy", "prefix", "provider", "size", "stdin", "store", "ttl", "type", "uri", "url", "var"}
)
"""Last words of names about a secret that are no secrets themselves."""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_REFERENCE = re.compile(r"\$\{[^}:]*(?::-([^}]*))?\}")
_SWITCH = re.compile(r"(?:true|false|yes|no|on|off|none|null|auto|oauth|[01]|\$[A-Z_]+)?", re.IGNORECASE)
_PATH = re.compile(r"(?:\.{1,2}|~)?/[\w.-]+(?:/[\w.-]+)*|\S*\.(?:crt|env|json|key|p12|pem|toml|txt|ya?ml)")

_SCHEME = re.compile(r"\s*(?:(?:bearer|basic|token|apikey)\s+)?", re.IGNORECASE)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_NAMED = re.compile(r"""(?<![\w/])([A-Za-z][\w.-]{0,60})["']?\s{0,4}[:=]\s{0,4}""")
_VALUE = re.compile(
    r"""(?P<quote>["'])?(?P<value>(?(quote)[^"']+
    |(?:(?:bearer|basic|token|apikey)\ +)?(?:\$\{[^}]*\}|[^\s"'&;,}#]){1,4096}))""",
    re.VERBOSE | re.IGNORECASE,
)
_JUDGED = 256  # characters

_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?:([^\s/?#:@]*):)?([^\s/?#]+)@")


def secrets_in(text: str, name: str = "") -> list[Secret]:
    """The secrets written out in `text`, which is called `name`, in the order of the text.

    References to environment variables are none; the fallback of such a reference may be one.
    """
    start = _SCHEME.match(text).end() if name else 0  # type: ignore[union-attr]
    if name and _is_secret(name, text[start:], by_part=True):
        return [Secret(start, len(text), name)]
    secrets = [Secret(match.start(), match.end(), "") for match in _forms().finditer(text)]
    secrets += _in_addresses(text)
    end = 0
    for named in _NAMED.finditer(text):
        if named.start() >= end and _may_name(named[1]) and (secret := _secret_at(text, named)):
            secrets.append(secret)
            end = secret.end
    return _apart(secrets)


def _secret_at(text: str, named: re.Match[str]) -> Secret | None:
    """The secret that follows the name in `named`."""
    # Judged by its beginning: values that are none may begin at every name in a long text.
    secret = None
    for limit in (named.end() + _JUDGED, len(text)):
        value = _VALUE.match(text, named.end(), limit)
        if value is None:
            return None
        begin = value.start("value") + _SCHEME.match(value["value"]).end()  # type: ignore[union-attr]
        if not _is_secret(named[1], text[begin : value.end("value")]):
            return None
        secret = Secret(begin, value.end("value"), named[1])
    return secret


def secrets_in_words(words: Sequence[str]) -> Iterator[tuple[int, Secret]]:
    """The secrets written out in the arguments of a program, each with the number of its word."""
    option = ""
    for number, word in enumerate(words):
        match = _OPTION.fullmatch(word)
        if option and not match and _is_secret(option, word):
            start = _SCHEME.match(word).end()  # type: ignore[union-attr]
            yield number, Secret(start, len(word), option)
        elif match and match[2] and _is_secret(match[1], match[2]):
            yield number, Secret(match.start(2), len(word), match[1])
        else:
            yield from ((number, secret) for secret in secrets_in(word))
        option = match[1] if match and match[2] is None else ""


def _in_addresses(text: str) -> Iterator[Secret]:
    for match in _USERINFO.finditer(text):
        is_web = match[0].lower().startswith(("http://", "https://"))
        if (match[1] is not None or is_web) and _literal(match[2]):
            part = 2 if "${" in (match[1] or "") or match[1] is None else 1
            yield Secret(match.start(part), match.end(2), "userinfo")


def _is_secret(name: str, text: str, *, by_part: bool = False) -> bool:
    """Whether `text`, which is called `name`, is a secret; with `by_part`, one name part and enough length suffice."""
    literal = _literal(text)
    if _SWITCH.fullmatch(literal):
        return False
    if by_part and names_secret(name) and len(literal) >= SHORTEST:
        return True
    if not _may_name(name) or _PATH.fullmatch(literal):
        return False
    words = _words(name)
    of_key = any(pair[1] == "key" and pair[0] in _KEYS for pair in pairwise(words))
    if of_key or not _CERTAIN.isdisjoint(words):
        return True
    is_random = len(literal) >= SHORTEST and any(map(str.isdigit, literal))
    return is_random and not _UNCERTAIN.isdisjoint(words)


def _may_name(name: str) -> bool:
    """Whether one of the words in `name` says that it is a secret; names of things about a secret do not count."""
    words = _words(name)
    says = _CERTAIN | _UNCERTAIN
    return not says.isdisjoint(words) and words[-1] not in _ABOUT and "public" not in words


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _literal(text: str) -> str:
    """The part of `text` that does not come from the environment."""
    return _REFERENCE.sub(lambda match: match[1] or "", text).strip()


def _apart(secrets: list[Secret]) -> list[Secret]:
    """Those of `secrets` in the order of the text, without any that begins inside another one."""
    apart: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end)):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


@cache
def _forms() -> re.Pattern[str]:
    return re.compile(_FORMS, re.VERBOSE | re.DOTALL)


@cache
def _marks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a dash, and for an underscore, in the positions that `_FORMS` has."""
    dash = r"-(?:(?<=sk-)|(?<=glpat-)|(?<=xox.-)|(?<=pypi-)|---BEGIN )"
    underscore = r"_(?:(?<=gh._)|(?<=github_pat_)|(?<=k_live_)|(?<=k_test_)|(?<=hf_)|(?<=npm_))"
    return re.compile(dash), re.compile(underscore)
