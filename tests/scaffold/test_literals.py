"""Values that are written into files of ours are read back as they were."""

from __future__ import annotations

import tomllib
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from llmdo.scaffold import files
from tests.support.laws import tried

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\r\x7f\u2028🔴'), max_size=8)
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=6,
)


@tried(200)
@given(texts, values)
def test_a_value_in_toml_is_read_back(key: str, value: Any) -> None:
    text = f"{files.toml_key('a', key)} = {files.toml(value)}"
    assert tomllib.loads(text) == {"a": {key: value}}
    assert text.isprintable()


@tried(200)
@given(texts)
def test_a_text_in_yaml_is_read_back(text: str) -> None:
    assert yaml.safe_load(files.yaml(text)) == text
