"""What a person is shown: complete, and nothing in it can hide, pretend, or pass for something else."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.visible import scripts, visible
from llmdo.policy.authority import Capability
from llmdo.runtime import Question
from llmdo.runtime.approvals.drawing import MARGIN, TITLES, WIDE, LeftOut, describe

WRITE = Capability("fs.write", "a.txt")


def question(arguments: dict[str, object] | None = None, **more: Any) -> Question:
    fields: dict[str, Any] = {
        "path": "main/write_file#1",
        "worker": "main",
        "toolset": "filesystem",
        "tool": "write_file",
        "arguments": arguments or {},
        "capabilities": (WRITE,),
        "reasons": ("no rule names `fs.write:a.txt`, so the default holds: needs_approval",),
        "advice": ('add `"fs.write:a.txt" = "allowed"` to [approvals.rules] in llmdo.toml',),
        "terminal_only": False,
    }
    return Question(**(fields | more))


def drawn(arguments: dict[str, object], columns: int = 80, *, folded: bool = True, **more: Any) -> list[str]:
    """The rows of the arguments, without their margin."""
    return sections(list(describe(question(arguments, **more), columns, folded=folded)), columns)["args"]


def sections(lines: list[str], columns: int) -> dict[str, list[str]]:
    """The rows of each section without their margin, outside of which there is nothing but titles."""
    assert lines[0] == "approval needed"
    read: dict[str, list[str]] = {}
    for line in lines[1:]:
        if columns < WIDE and not line.startswith(MARGIN):
            read[line.strip()] = []
            continue
        title, bar, row = line[:6], line[6:9], line[9:]
        if columns < WIDE:
            title, bar, row = "", line[1:4], line[4:]
        assert bar == " | "
        if title.strip():
            read[title.strip()] = []
        read[[*read][-1]].append(row)
    assert tuple(read) == TITLES
    return read


def test_a_question_says_who_asks_what_and_why() -> None:
    assert list(describe(question({"path": "a.txt", "content": "one\ntwo"}), 80)) == [
        "approval needed",
        "caller | main/write_file#1",
        "tool   | write_file of filesystem",
        'args   | path: "a.txt"',
        "       | content: 2 lines, 7 bytes",
        "       |   one",
        "       |   two",
        "raises | fs.write:a.txt",
        "why    | no rule names `fs.write:a.txt`, so the default holds: needs_approval",
        'advice | add `"fs.write:a.txt" = "allowed"` to [approvals.rules] in llmdo.toml',
    ]
    narrow = list(describe(question({"path": "a.txt"}), WIDE - 1))
    assert narrow[:7] == [
        "approval needed",
        "  caller",
        "  | main/write_file#1",
        "  tool",
        "  | write_file of filesystem",
        "  args",
        '  | path: "a.txt"',
    ]


def test_a_question_about_three_short_arguments_takes_at_most_twelve_rows_with_its_answers() -> None:
    rows = list(describe(question({"path": "a.txt", "content": "hello", "times": 3}), 80))
    assert len(rows) + len(["the answers", "the prompt"]) <= 12


HIDING = [
    "\r", "\x00", "\x1b[2K", "\x1b]8;;http://x\x07", "\x08", "\x7f", "\x9b2J", "\x85", "\u202e", "\u2066", "\u200b",
    "\u200d", "\ufeff", "\u00ad", "\u2028", "\u00a0", "\u3000", "\U000e0041", "\u3164", "\u115f", "\u1160", "\u1161",
    "\u11a8", "\uffa0", "\u2800", "\u0301", "\u0489", "\ufe0f", "\ud800", "\ue000", "\U000f0000",
]  # fmt: skip


@pytest.mark.few(41)
@pytest.mark.parametrize("character", HIDING)
@pytest.mark.parametrize("text", ["ok{}rm", "a text ok{}rm and more", "one\nok{}rm\n{}", "{}", "你{}好"])
def test_nothing_that_hides_text_reaches_the_screen(character: str, text: str) -> None:
    value = text.format(character, character)
    rows = list(
        describe(question({"path": value, "deep": {"k": [value], value: 1}}, path=value, tool=value), 80)
    )
    assert not any(sign in row for row in rows for sign in character if not " " <= sign <= "~")
    first = "\\r" if character == "\r" else f"\\u{{{ord(character[0]):x}}}"
    assert sum(first in row for row in rows) >= 2


LOOK_ALIKE = [
    ("p\u0430ypal.com", "p\\u{430}ypal.com"),
    ("see p\u0430ypal.com today", "see p\\u{430}ypal.com today"),
    ("git log \u2013\u2013oneline", "git log \\u{2013}\\u{2013}oneline"),
    ("a\u2215b\u2024txt", "a\\u{2215}b\\u{2024}txt"),
    ("\uff52\uff4d", "\\u{ff52}\\u{ff4d}"),
    ("\U0001d42b\U0001d426 -rf", "\\u{1d42b}\\u{1d426} -rf"),
    ("caf\u00e9.md", "caf\\u{e9}.md"),
    ("the caf\u00e9 isn\u2019t open", "the caf\u00e9 isn\u2019t open"),
    ("d\u0131r the \u0131", "d\\u{131}r the \u0131"),
    ("天气", "天气"),
    ("Привет всем", "Привет всем"),
    ("ends with a blank ", "ends with a blank\\u{20}"),
]


@pytest.mark.parametrize(("text", "expected"), LOOK_ALIKE)
def test_a_letter_that_passes_for_another_is_spelled_out(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_whole_words_of_another_script_are_pointed_out() -> None:
    word = "\u0430\u0440\u0440"
    assert drawn({"run": f"cat {word}"}) == [f'run: "cat {word}"', "(letters of another script: Cyrillic)"]
    assert scripts(visible("天气 αβγ été")) == ("Cjk", "Greek")


@given(st.text(), st.text(), st.booleans())
def test_two_texts_are_never_shown_alike(text: str, other: str, prose: bool) -> None:
    assert (visible(text, prose=prose) == visible(other, prose=prose)) == (text == other)
    assert visible(text).isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    st.dictionaries(st.text(max_size=5), JSON, max_size=3),
)
def test_two_calls_are_never_shown_alike(arguments: dict[str, object], other: dict[str, object]) -> None:
    alike = drawn(arguments, folded=False) == drawn(other, folded=False)
    assert alike == (repr(arguments) == repr(other))


def test_numbers_texts_and_other_things_differ() -> None:
    values: list[object] = [1, 1.0, True, "1", "true", None, "null", [1], "[1]", {"a": 1}, b"1", {1}]
    assert len({tuple(drawn({"x": value})) for value in values}) == len(values)


TIMES = re.compile(r"\.\.\. ([0-9,]+) times this row:")
SIZE = re.compile(r"content: [0-9,]+ lines?, ")
BLANKS = re.compile(r"\\\\|\\\{([0-9,]+) blanks\}")
REPETITIVE = st.lists(
    st.tuples(st.text(max_size=5) | st.sampled_from([" ", "\n", " \n", "-q ", "\\"]), st.integers(1, 90)),
    max_size=8,
).map(lambda runs: "".join(text * number for text, number in runs))


def read_back(rows: list[str]) -> str:
    """What the rows of one argument show, with every count written out."""
    head, *rest = rows
    if inline := re.fullmatch(r'content: "(.*)', head, re.DOTALL):
        shown = "".join([inline[1], *(row.removeprefix("  ") for row in rest)])
        shown = shown[: shown.rindex('"')]
    else:
        while rest and SIZE.match(head) and not re.search(r"bytes$|\b1 byte$", head):
            head += rest.pop(0).removeprefix("  ")
        times, shown = 1, ""
        for row in rest:
            if announced := TIMES.fullmatch(row):
                times = int(announced[1].replace(",", ""))
            elif row.startswith("(letters of"):
                break  # a note, which may take several rows
            elif row.startswith("  "):
                shown, times = shown + row.removeprefix("  ") * times, 1
    return BLANKS.sub(lambda run: " " * int(run[1].replace(",", "")) if run[1] else run[0], shown)


@given(st.text(max_size=300) | REPETITIVE, st.sampled_from([29, 40, 80, 100]), st.booleans())
def test_all_of_a_payload_is_shown_behind_the_margin(content: str, columns: int, command: bool) -> None:
    capability = Capability("proc.exec.unlisted") if command else WRITE
    rows = drawn({"content": content}, columns, folded=command, capabilities=(capability,))
    pieces = [visible(piece, prose="\n" in content) for piece in content.split("\n")]
    assert read_back(rows) == "".join(pieces)


HIDDEN = "--upload-pack=./pwn.sh"


@pytest.mark.parametrize(
    "value",
    [
        f"git fetch{' ' * 1_600}{HIDDEN}",
        f"git fetch{chr(10) * 1_600}{HIDDEN}",
        f"git fetch{(' ' + chr(10)) * 1_600}{HIDDEN}",
        f"git fetch {'-q ' * 400}{HIDDEN}",
        ["git", "fetch", *["-q"] * 400, HIDDEN],
        ["git", "fetch", " " * 1_600 + HIDDEN],
        ["git", "fetch", *map(str, range(400)), HIDDEN],
        "git fetch " + " ".join(map(str, range(20_000))) + HIDDEN,
    ],
)
def test_nothing_pushes_the_end_of_a_command_out_of_sight(value: object) -> None:
    rows = list(describe(question({"command": value}, capabilities=(Capability("proc.exec.listed"),)), 80))
    assert not any(isinstance(row, LeftOut) for row in rows)
    shown = sections(rows, 80)["args"]
    assert HIDDEN in "".join(row.strip() for row in shown)
    at = next(place for place, row in enumerate(shown) if row.rstrip('",').endswith(HIDDEN[-6:]))
    assert at <= 2 * 48 or "1" in repr(value), "what says nothing takes no rows"
    folded = drawn({"command": value})
    assert HIDDEN in "".join(row.strip() for row in folded), "the end of what is folded is shown as well"
    assert len(folded) < 20


@given(st.text(min_size=1, max_size=60), st.sampled_from([20, 29, 80]))
def test_a_value_that_takes_several_rows_cannot_pass_for_another_argument(text: str, columns: int) -> None:
    rows = drawn({"content": text * 12}, columns)
    assert all(row.startswith(("  ", "... ", "sha256 ", "(letters ", "content: ")) for row in rows)
    assert [row for row in rows if row.startswith("content: ")] == rows[:1]


def test_a_payload_cannot_imitate_the_frame() -> None:
    forged = "x\nraises | nothing\n  | nothing\nallow? [no] once\napproval needed"
    for columns in (20, 33, 59, 60, 80):
        rows = list(
            describe(question({"content": forged, forged: forged}, path=forged, tool=forged), columns)
        )
        assert sections(rows, columns)["raises"] == ["fs.write:a.txt"]
        assert all(len(row) <= columns for row in rows)


def test_an_argument_name_cannot_imitate_another_argument() -> None:
    assert drawn({'path: "safe.txt"': "x"}) == ['"path: \\"safe.txt\\"": "x"']


@pytest.mark.long
def test_a_long_value_is_folded_with_its_size_and_digest_and_shown_on_request() -> None:
    content = "".join(f"line {number}\n" for number in range(500))
    rows = drawn({"content": content})
    assert rows[0] == f"content: 501 lines, {len(content):,} bytes"
    assert rows[1] == "  line 0"
    assert rows[-6:] == [
        "... more is left out; `show` shows all of it",
        "  line 497",
        "  line 498",
        "  line 499",
        "  ",
        f"sha256 {sha256(content.encode()).hexdigest()}",
    ]
    assert len(rows) < 20
    assert "  line 499" in drawn({"content": content}, folded=False)

    for folded in ("x" * 100_000, [*range(5_000)], {"k": "v" * 90_000}, "ab\n" * 90_000):
        assert "... more is left out; `show` shows all of it" in drawn({"value": folded})
        assert len(drawn({"value": folded})) < 20
        assert not any("show" in row for row in drawn({"value": folded}, folded=False))


def test_many_arguments_and_capabilities_are_folded_too() -> None:
    arguments: dict[str, object] = {f"a{number}": number for number in range(1_000)}
    many = tuple(Capability("fs.read", f"{number}.txt") for number in range(1_000))
    rows = sections(list(describe(question(arguments, capabilities=many), 80)), 80)
    assert any("... 960 more arguments; " in row for row in rows["args"])
    assert "... 960 more; `show` shows them" in rows["raises"]
    assert "a999: 999" in rows["args"]
    assert "fs.read:999.txt" in rows["raises"]
    assert len(list(describe(question(arguments, capabilities=many), 80, folded=False))) > 2_000


def test_a_fold_tells_two_ends_apart() -> None:
    start = "x" * 50_000
    assert drawn({"content": start + "a"}) != drawn({"content": start + "b"})


def test_no_row_is_wider_than_the_terminal() -> None:
    wide = "天" * 100 + " " + "x" * 100
    for columns in (20, 21, 50):
        for row in describe(question({"content": wide}), columns):
            assert sum(2 if ord(sign) > 0x2E80 else 1 for sign in row) <= columns
