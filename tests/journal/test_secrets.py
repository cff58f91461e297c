"""Secrets are cut out of what a journal keeps and put back as they were, and nothing else ever becomes one."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.journal import Journal, JournalError, Runs
from llmdo.journal.entries import JournalEntry, Kind, pack
from llmdo.journal.secrets import Known, Secrets
from llmdo.journal.spans import SecretSpan, shown
from llmdo.journal.sqlite.store import read_journal
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services.export_import import read_bundle
from tests.support.forging import forging
from tests.support.laws import tried
from tests.support.work import observed

PLAIN = "k3y-that-is-secret"
ODD = 'pa"ss\\word ö\n\U0001f511'
PIN = "31415926"
ENVIRON = {
    "A_KEY": PLAIN,
    "B_TOKEN": ODD,
    "C_PASSWORD": PIN,
    "D_URL": "postgres://me:p%40ss-word@db.example.org/x",
}
SECRETS = (PLAIN, ODD, PIN, "p@ss-word", "p%40ss-word")
KNOWN = Known.of(ENVIRON)
RUN = Secrets(KNOWN)
"""Those of one run, for laws: what it knows a secret by is slow to make."""

NOTATION = [
    "\0", "\\u0000", "[redacted A_KEY]", "[redacted]", '[[0,6,1,"j"]]', '{"spans": [[1, 6, 1, "j"]]}', "A_KEY", "${A_KEY}",
    "n" + PLAIN, PLAIN[:9], PLAIN[9:], "\\", "\\\\", '"', "\n", "31", "415926",
]  # fmt: skip
"""What may be taken for a secret's place, and what may become one when something between is cut out."""

texts = st.lists(st.sampled_from([*NOTATION, *SECRETS]) | st.text(max_size=3), max_size=6).map("".join)
harmless = st.lists(st.sampled_from(NOTATION[:8]) | st.text(max_size=3), max_size=6).map("".join)


def written(text: str) -> str:
    """`text` as somebody writes it who makes JSON of it, or an address, or base64."""
    return json.dumps(
        {"as json": text, "coded": base64.b64encode(text.encode()).decode(), "in": quote(text, safe="")}
    )


def mixed(text: str, where: str, turns: Sequence[bool] = (True, False, False, True, True)) -> str:
    """`text` with letters where `where` matches in large and small, as `turns` has it, over and over."""
    each = itertools.cycle(turns)

    def turned(letter: str) -> str:
        if not letter.isalpha():
            return letter
        return letter.upper() if next(each) else letter.lower()

    return re.sub(where, lambda match: "".join(map(turned, match[0])), text)


FORMS = {
    "in an address": lambda text: quote(text),
    "in a form": lambda text: quote_plus(text),
    "in small quotes": lambda text: re.sub("%..", lambda each: each[0].lower(), quote(text, safe="")),
    "in small quotes of a form": lambda text: re.sub("%..", lambda each: each[0].lower(), quote_plus(text)),
    "in hexadecimal digits": lambda text: text.encode().hex(),
    "in large ones": lambda text: text.encode().hex().upper(),
    "in quotes of both cases": lambda text: mixed(quote(text, safe=""), "(?<=%).."),
    "in quotes of a form of both cases": lambda text: mixed(quote_plus(text), "(?<=%).."),
    "in hexadecimal digits of both cases": lambda text: mixed(text.encode().hex(), "."),
    "as base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "in large letters": str.upper,
    "in small letters": str.lower,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["Tr0ub4dor & Sons/3+4?", "AbCdEf0123456789", "pass word\tÄöü~/x"])
def test_a_secret_in_another_form_stays_nowhere(secret: str, form: str) -> None:
    form_of_it = FORMS[form](secret)
    redaction = Redaction.of({"A_KEY": secret})
    assert form_of_it.rstrip("=") not in redaction.text(f"x {form_of_it} y")
    for text in (form_of_it, json.dumps({"in": form_of_it})):
        body = pack({"said": text})
        secrets = Secrets(redaction.known)
        rest, spans = secrets.cut(body)
        assert form_of_it.rstrip("=").encode() not in rest
        assert spans
        assert secrets.whole(rest, spans) == body
        assert form_of_it.rstrip("=") not in json.dumps(shown(rest, spans))


@tried(200)
@given(
    st.text(min_size=8, max_size=12).filter(lambda text: "\0" not in text),
    st.sampled_from(["hex", "quote", "quote_plus"]),
    st.lists(st.booleans(), min_size=1, max_size=9),
    st.booleans(),
)
def test_digits_of_both_cases_are_cut_whatever_their_order_and_come_back(
    secret: str, how: str, turns: list[bool], in_json: bool
) -> None:
    secret = secret.encode("utf-8", "replace").decode()
    written = (
        secret.encode().hex() if how == "hex" else quote(secret) if how == "quote" else quote_plus(secret)
    )
    form = mixed(written, "." if how == "hex" else "(?<=%)..", turns)
    body = pack({"said": f"x{form} {form}"}) if in_json else f"x{form} {form}".encode()
    secrets = Secrets(Known.of({"A_KEY": secret}))
    rest, spans = secrets.cut(body, is_json=in_json)
    assert form.lower().encode() not in rest.lower()
    assert secrets.whole(rest, spans, is_json=in_json) == body
    again, others = Secrets(Known.of({"A_KEY": secret}), secrets.registered).cut(body, is_json=in_json)
    assert (again, others) == (rest, spans)


def test_only_the_digits_of_a_quote_are_alike_in_both_cases() -> None:
    secrets = Secrets(Known.of({"A_KEY": "AbCd/EfGh=z"}))
    for text in (b"aBcD%2fEfGh%3dz", b"AbCd%2feFgH%3dz", base64.b64encode(b"AbCd/EfGh=z").swapcase()):
        assert secrets.cut(text, is_json=False) == (text, ())
    assert secrets.cut(b"AbCd%2fEfGh%3Dz", is_json=False)[1]


def test_forms_that_earlier_journals_name_are_put_back() -> None:
    secrets = Secrets(Known.of({"A_KEY": "k/y=that\xff"}))
    secrets.cut(b"k/y=that\xc3\xbf", is_json=False)
    for form, text in (
        ("ql", b"k%2fy%3dthat%c3%bf"),
        ("H", b"6B2F793D74686174C3BF"),
        ("q", b"k%2Fy%3Dthat%C3%BF"),
    ):
        assert secrets.whole(b"\0", [SecretSpan(0, 1, 1, "A_KEY", form)], is_json=False) == text


def data(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    safe = leaves.map(lambda text: text.encode("utf-8", "replace").decode())
    return st.recursive(
        safe
        | safe.map(written)
        | st.integers()
        | st.sampled_from([int(PIN), -int(PIN), int(f"99{PIN}1"), 0.5]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(safe, inner, max_size=3),
        max_leaves=6,
    )


def strings(value: object) -> list[str]:
    match value:
        case dict():
            return [text for pair in value.items() for part in pair for text in strings(part)]
        case list():
            return [text for item in value for text in strings(item)]
        case bool() | None:
            return []
    return [str(value)]


@tried(300)
@given(data(texts), st.booleans())
def test_what_is_cut_comes_back_byte_for_byte(value: Any, in_ascii: bool) -> None:
    body = json.dumps({"said": value}, ensure_ascii=in_ascii).encode("utf-8", "surrogatepass")
    secrets = RUN
    rest, spans = secrets.cut(body)
    assert secrets.whole(rest, spans) == body
    texts = strings(json.loads(rest.decode("utf-8", "surrogatepass")))
    assert not [text for text in texts for secret in SECRETS if secret in text]
    assert not [text for text in strings(shown(rest, spans)) for secret in SECRETS if secret in text]
    elsewhere = Secrets(Known.of({}), secrets.registered)
    if all(span.form for span in spans):
        other = elsewhere.whole(rest, spans)
        assert bool(elsewhere.lacks(json.loads(other.decode("utf-8", "surrogatepass")))) == bool(spans)


@tried(300)
@given(data(harmless))
def test_no_text_becomes_a_secret(value: Any) -> None:
    body = pack({"said": value})
    secrets = Secrets(Known.of({"A_KEY": PLAIN, "B_TOKEN": ODD}))
    rest, spans = secrets.cut(body)
    assert (rest, spans) == (body, ())
    assert secrets.whole(body, ()) == body
    assert secrets.lacks(value) is None
    assert not secrets.registered


@tried(200)
@given(texts, st.binary(max_size=20))
def test_secrets_in_bytes_come_back_too(text: str, more: bytes) -> None:
    content = more + text.encode("utf-8", "surrogatepass") + more
    secrets = RUN
    rest, spans = secrets.cut(content, is_json=False)
    assert secrets.whole(rest, spans, is_json=False) == content
    assert not [secret for secret in SECRETS if secret.encode() in rest]


def test_a_cut_makes_no_secret_of_what_is_left() -> None:
    secrets = RUN
    body = pack({"said": PLAIN[:9] + PLAIN + PLAIN[9:], "pin": int(f"3{PIN}415926")})
    rest, spans = secrets.cut(body)
    assert PLAIN.encode() not in rest
    assert PIN.encode() not in rest
    assert secrets.whole(rest, spans) == body


def test_what_only_looks_like_a_secret_in_json_is_left_alone() -> None:
    secrets = Secrets(Known.of({"A_KEY": "newlines-are-fine", "B_KEY": "0041abcdefgh"}))
    body = b'{"said":"one\\newlines-are-fine \\u0041abcdefgh \\\\newlines-are-fine"}'
    rest, spans = secrets.cut(body)
    assert rest == b'{"said":"one\\newlines-are-fine \\u0041abcdefgh \\\\\\u0000"}'
    assert secrets.whole(rest, spans) == body


def journal_of(root: Path, body: dict[str, Any], content: bytes = b"", kind: Kind = "request") -> Path:
    with Runs(root).create("r") as journal:
        journal.know(KNOWN)
        journal.add(
            JournalEntry(path="main", kind="run", step=1, body=pack({"entry": "main", "input": PLAIN}))
        )
        journal.add(JournalEntry(path="main", kind="session", step=1, body=pack({"run": "r", "limits": {}})))
        journal.add(JournalEntry(path="main", kind=kind, step=1, body=pack(body)))
        if content:
            journal.keep(content)
        journal.add(JournalEntry(path="main", kind="end", step=1, outcome="completed"))
        journal.commit()
    return Runs(root).path("r")


def test_a_journal_holds_no_byte_of_a_secret_and_gives_it_back(tmp_path: Path) -> None:
    content = b"\xff\0" + PLAIN.encode() + b" and " + ODD.encode()
    path = journal_of(tmp_path, {"said": [ODD, {PLAIN: int(PIN)}], "json": written(PLAIN)}, content)
    for file in tmp_path.rglob("*.*"):
        if file.is_file():
            assert not [secret for secret in SECRETS if secret.encode() in file.read_bytes()], file
    for known, is_there in (
        (Known.of({**ENVIRON, "X": "x"}), True),
        (Known.of({**ENVIRON, "B_TOKEN": "another one"}), False),
    ):
        with read_journal(path, whole=True) as journal:
            secrets = journal.know(known)
            entry = journal.get("main", "request")
            assert entry is not None
            assert entry.data == {
                "said": ["[redacted B_TOKEN]", {"[redacted A_KEY]": "[redacted C_PASSWORD]"}],
                "json": json.dumps({
                    "as json": "[redacted A_KEY]", "coded": "[redacted A_KEY]", "in": "[redacted A_KEY]",
                }),
            }  # fmt: skip
            body = journal.whole(entry)
            assert body["said"][1] == {PLAIN: int(PIN)}
            assert (body["said"][0] == ODD) == is_there
            assert secrets.lacks(body) == (None if is_there else "B_TOKEN")
            [name] = [name for (name,) in journal._read("SELECT digest FROM content")]
            assert (journal.content(name) == content) == is_there
            assert secrets.lacks(journal.content(name)) == (None if is_there else "B_TOKEN")


def test_a_number_that_cannot_be_put_back_is_refused(tmp_path: Path) -> None:
    path = journal_of(tmp_path, {"pin": int(PIN)})
    with read_journal(path) as journal:
        entry = journal.get("main", "request")
        assert entry is not None
        with pytest.raises(JournalError, match="the value that `C_PASSWORD` had") as refused:
            journal.whole(entry)
        assert "set `C_PASSWORD` to the value that it had" in (refused.value.hint or "")


def test_scrypt_works_once_for_a_run_and_a_variable(tmp_path: Path) -> None:
    known = Known.of(ENVIRON)
    with observed(hashlib.scrypt) as derived, Runs(tmp_path).create("r") as journal:
        journal.know(known)
        journal.add(JournalEntry(path="main", kind="call", step=1, body=pack({"said": "nothing"})))
        assert derived == []
        for step in range(1, 9):
            journal.add(
                JournalEntry(path="main", kind="request", step=step, body=pack({"said": [PLAIN, ODD]}))
            )
            journal.commit("written")
            entry = journal.get("main", "request", step)
            assert entry
            assert journal.whole(entry)["said"] == [PLAIN, ODD]
    assert len(derived) == 2
    with observed(hashlib.scrypt) as again, Runs(tmp_path).open("r") as journal:
        journal.know(known)
        entry = journal.get("main", "request", 1)
        assert entry
        assert journal.whole(entry)["said"] == [PLAIN, ODD]
        journal.add(JournalEntry(path="main", kind="request", step=9, body=pack({"said": [PLAIN, ODD]})))
        assert len(journal.secrets.registered) == 2
    assert len(again) == 2, "once more in another process"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "forge", ["UPDATE secret SET variable = 'A_KEY'", "UPDATE secret SET salt = zeroblob(16)"]
)
def test_a_forged_journal_gets_no_value_of_a_variable(tmp_path: Path, forge: str) -> None:
    """Whoever writes a journal says what is to stand where; that it is the value of a variable has to be known."""
    path = journal_of(tmp_path, {"said": ODD})
    with forging(path) as connection:
        connection.execute(forge)
    with read_journal(path, whole=True) as journal:
        secrets = journal.know(KNOWN)
        entry = journal.get("main", "request")
        assert entry is not None
        body = journal.whole(entry)
        assert not [text for text in strings(body) for secret in SECRETS if secret in text]
        assert secrets.lacks(body)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "spans",
    [
        '[[0,9999,1,"j"]]',
        '[[9,6,3,"j"]]',
        "[[9,6,0,'']]",
        "[[9]]",
        '[[9,-2,1,"j"]]',
        '[[9,6,1,"j"],[9,6,1,"j"]]',
        "x",
    ],
)
def test_spans_that_are_not_ours_are_damage(tmp_path: Path, spans: str) -> None:
    path = journal_of(tmp_path, {"said": ODD})
    with forging(path) as connection:
        connection.execute("UPDATE entry SET spans = ? WHERE kind = 'request'", (spans,))
    for read in (lambda journal, entry: journal.whole(entry), lambda _, entry: entry.data):
        with pytest.raises(JournalError, match="is damaged"):
            reading(path, read)


def reading(path: Path, read: Callable[[Journal, JournalEntry], object]) -> None:
    with read_journal(path, whole=True) as journal:
        journal.know(KNOWN)
        [entry] = journal.entries("request")
        read(journal, entry)


def test_where_a_secret_stood_is_part_of_the_chain(tmp_path: Path) -> None:
    path = journal_of(tmp_path, {"said": f"{ODD} {PLAIN}"})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entry SET spans = replace(spans, ',1,', ',2,') WHERE kind = 'request'")
        connection.commit()
    with pytest.raises(JournalError, match="was changed"):
        read_journal(path, whole=True)


def test_neither_an_export_nor_an_import_knows_a_secret(tmp_path: Path) -> None:
    """A digest that leaves could be tried out against guesses; one that comes in could be another run's."""
    path = journal_of(tmp_path, {"worker": "main", "input": ODD, "depth": 0}, PLAIN.encode(), "call")
    exported = tmp_path / "out.sqlite"
    with read_journal(path) as journal:
        digests = [secret.digest for secret in journal.secrets.registered]
        journal.copy_to(exported)
    elsewhere = tmp_path / "elsewhere"
    raw = tmp_path / "raw.sqlite"
    raw.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(raw)) as connection:
        assert connection.execute("SELECT count(*) FROM secret").fetchone() == (2,)
    elsewhere.mkdir()
    read_bundle(Runs(elsewhere), raw)
    for file in (exported, Runs(elsewhere).path("r")):
        assert not [digest for digest in digests if digest in file.read_bytes()]
        with read_journal(file, whole=True) as journal:
            journal.know(KNOWN)
            assert (journal.secrets.registered, journal.redacted()) == ([], 3)
            [text] = [entry.data["input"] for entry in journal.entries("call")]
            assert text == "[redacted B_TOKEN]"
        with (
            read_journal(file) as journal,
            pytest.raises(JournalError, match="is needed, and the export took a secret out of it"),
        ):
            journal.get("main", "call")


def test_what_an_export_redacts_cannot_be_guessed_from_its_chain(tmp_path: Path) -> None:
    """The body but for its password is known to whoever has the export, and so is its digest."""
    bodies = [pack({"said": f"https://me:{word}@example.org"}) for word in ("hunter2hunter2", "[redacted]")]
    with Runs(tmp_path).create("r") as journal:
        journal.add(JournalEntry(path="main", kind="request", step=1, body=bodies[0]))
        journal.commit()
        journal.copy_to(tmp_path / "out.sqlite", without_secrets=lambda _: bodies[1])
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as connection:
        [(original, salt)] = connection.execute("SELECT original, salt FROM entry").fetchall()
    from llmdo.journal.stored import digest_of_body

    assert salt is None
    assert original != digest_of_body(bodies[0])
    with read_journal(tmp_path / "out.sqlite", whole=True) as copy:
        assert list(copy.faults()) == []


def test_a_span_of_a_number_covers_all_of_it_where_it_is_shown() -> None:
    body = b'{"n":[991,2]}'
    assert shown(body, [SecretSpan(8, 1, 1, "A_KEY", "")]) == {"n": ["[redacted A_KEY]", 2]}
