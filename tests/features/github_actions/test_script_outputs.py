"""Scripts that choose an output by the event: no event is left out by which the wanted value could come."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.features.github_actions.script_outputs import past_scripts
from llmdo.features.github_actions.workflow import trigger_of
from llmdo.foreign import reading

EVENTS = {"issues": ("opened", "edited"), "issue_comment": ("created",), "pull_request": ("opened",)}
NAMES = tuple(f"{event}.{action}" for event, actions in EVENTS.items() for action in actions)
VALUES = ("sort", "answer", "none")
START = """const event = process.env.EVENT;
const words = process.env.WORDS;
"""
WANTS = "steps.read.outputs.task == 'sort'"


def left(
    script: str, condition: str = WANTS, event: str = "${{ github.event_name }}.${{github.event.action}}"
) -> set[str]:
    """The events that are left of `EVENTS` behind a condition on a script's output."""
    on = "".join(f"  {name}:\n    types: [{', '.join(actions)}]\n" for name, actions in EVENTS.items())
    document = reading.yaml(Source(Path("w.yml").as_posix(), f"on:\n  workflow_call:\n{on}"))
    step = {
        "id": "read",
        "uses": "actions/github-script@v7",
        "env": {"EVENT": event, "WORDS": "${{ github.event.comment.body }}"},
        "with": {"script": START + script},
    }
    jobs = {"read": {"outputs": {"task": "${{ steps.read.outputs.task }}"}, "steps": [step]}}
    return {*past_scripts(trigger_of(document), condition, [step], jobs).starters}


ALL = {*EVENTS, "workflow_call"}
"""A called workflow has the event of its caller, which no file says."""
SORTED = """core.setOutput('words', words);
if (event === 'issues.opened') {
  core.setOutput('task', 'sort');
} else if (words.startsWith("/answer")) {
  core.setOutput('task', 'answer');
}"""

OF_COMMENTS = SORTED.replace("issues.opened", "issue_comment.created").replace("'sort'", "'none'")


@pytest.mark.parametrize(
    ("script", "events"),
    [
        (SORTED, {"issues", "workflow_call"}),
        (SORTED.replace("===", "=="), {"issues", "workflow_call"}),
        (SORTED.replace("'sort'", "'SORT'"), {"issues", "workflow_call"}),
        (SORTED.replace("words);", "words);\n\n// it's no {"), {"issues", "workflow_call"}),
        (SORTED.replace("'answer'", "words"), ALL),
        (SORTED + "\ncore.setOutput('task', words);", ALL),
        (SORTED + "\ncore.setOutput(words, 'sort');", ALL),
        (SORTED + "\nconst set = core.setOutput;", ALL),
        (SORTED + "\nset('task', 'sort');", ALL),
        (SORTED + "\nif (words) {\n  core.setOutput('task', 'sort');\n}", ALL),
        (SORTED.replace("('/answer'", "(core.setOutput('task', 'sort')"), {"issues", "workflow_call"}),
        (SORTED.replace('words.startsWith("/answer")', "core.setOutput('task', 'sort')"), ALL),
        (SORTED.replace("words);", "words); /*"), ALL),
        (SORTED.replace("words);", "words);\nconst a = words /* ;"), ALL),
        (SORTED.replace("  core.setOutput('task', 'answer');", "  if (words) {\n}"), ALL),
        (OF_COMMENTS + "\nif (words) {\n  core.setOutput('task', 'sort');\n}", ALL),
        (SORTED[:-1], ALL),
        (SORTED + "\n}", ALL),
        ("const a = words;\n" * 400 + SORTED, ALL),
    ],
)
def test_an_event_is_left_out_only_by_a_script_of_known_lines(script: str, events: set[str]) -> None:
    assert left(script) == events


@pytest.mark.parametrize(
    ("condition", "events"),
    [
        ("needs.read.outputs.task == 'sort'", {"issues", "workflow_call"}),
        ("${{ always() && (needs.read.outputs.task == 'sort') }}", {"issues", "workflow_call"}),
        ("needs.read.outputs.task == 'sort' || always()", ALL),
        ("needs.read.outputs.task != 'sort'", ALL),
        ("needs.read.outputs.other == 'sort'", ALL),
        ("needs.other.outputs.task == 'sort'", ALL),
        ("steps.other.outputs.task == 'sort'", ALL),
        ("steps.read.outputs.words == 'sort'", ALL),
    ],
)
def test_an_event_is_left_out_only_where_the_condition_demands_the_value(
    condition: str, events: set[str]
) -> None:
    assert left(SORTED, condition) == events


@pytest.mark.parametrize(
    "event", ["${{ github.event.comment.body }}", "", "${{ github.event_name }}-x", "constant"]
)
def test_an_event_is_left_out_only_by_its_own_name(event: str) -> None:
    chosen = SORTED.replace("'answer'", "'sort'").replace(
        'words.startsWith("/answer")', "event === 'constant'"
    )
    expected = {
        "${{ github.event_name }}-x": {"workflow_call"},
        "constant": ALL,
    }
    assert left(chosen, event=event) == expected.get(event, ALL)


CONDITIONS = st.one_of(
    st.sampled_from(NAMES).map(lambda name: (f"event === '{name}'", lambda event, _: event == name)),
    st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(
        lambda names: (f"[{', '.join(map(repr, names))}].includes(event)", lambda event, _: event in names)
    ),
    st.sampled_from("ab").map(lambda part: (f"words.includes('{part}')", lambda _, words: part in words)),
)


@settings(max_examples=150)
@given(
    branches=st.lists(
        st.tuples(CONDITIONS, st.sampled_from(VALUES)),
        min_size=1,
        max_size=5,
        unique_by=lambda branch: branch[0][0],
    ),
    otherwise=st.none() | st.sampled_from(VALUES),
)
def test_an_event_is_left_exactly_if_a_run_by_it_gives_the_value(
    branches: list[tuple[tuple[str, object], str]], otherwise: str | None
) -> None:
    script = " else ".join(
        f"if ({condition}) {{\ncore.setOutput('task', '{value}');\n}}" for (condition, _), value in branches
    )
    if otherwise:
        script += f" else {{\ncore.setOutput('task', '{otherwise}');\n}}"
    expected = {"workflow_call"}
    for (event, actions), words in product(EVENTS.items(), ("", "a", "b", "ab")):
        for action in actions:
            runs = (value for (_, holds), value in branches if holds(f"{event}.{action}", words))  # type: ignore[operator]
            if next(runs, otherwise) == "sort":
                expected.add(event)
    assert left(script) == expected
