"""Keys that are lists or tables have the texts that js-yaml 3 makes of them (each watched with opencode 1.18.33)."""

from __future__ import annotations

import pytest

from llmdo.features.opencode.text_keys import with_text_keys


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("model: {{M}}", 'model: {"[object Object]"}'),
        ("model: {[a]: b}", 'model: {"a": b}'),
        ("é: ü\n[a, 5, true, null, {x: y}]: a", 'é: ü\n"a,5,true,,[object Object]": a'),
        ("? - b\n  - c\n: d", '? "b,c"\n\n: d'),
        ("a: {b: [[c], d]}", "a: {b: [[c], d]}"),
    ],
)
def test_a_key_is_a_text(header: str, read: str) -> None:
    assert with_text_keys(header) == read


@pytest.mark.parametrize("header", ["a: {[[b]]}", "{{A}}: a\n{{B}}: b", "a: {{[[b]]: c}: d}", "a: b: c"])
def test_a_list_in_a_list_and_a_text_twice_are_no_keys(header: str) -> None:
    assert with_text_keys(header) is None
