"""Inputs of claude-code-action that its release does not have, and the one without which it does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, finding
from llmdo.base.parts import table
from llmdo.features.github_actions.claude_options import OF_V0, inputs_too_new, is_before_v1, is_v1, prompt_of
from llmdo.foreign.edits import names_text
from llmdo.foreign.files import COUNTS, renaming

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.walking import Site

_WITHOUT_WORDS = frozenset({"repository_dispatch", "schedule", "workflow_dispatch"})
"""Events that are no text of a person, in which a mention could start Claude."""
_REFUSED_IN_TAG = frozenset({"schedule", "workflow_dispatch"})
"""Those of them that mode `tag` refuses before v1."""
_SUCCESSORS: dict[str, str | None] = {
    **OF_V0,
    "anthropic_model": "--model", "claude_env": "`env` in `settings`", "custom_instructions": "--append-system-prompt",
    "fallback_model": "--fallback-model", "max_turns": "--max-turns", "model": "--model",
    "timeout_minutes": "`timeout-minutes` of the step",
}  # fmt: skip
"""Those that give or refuse tools and the others, each with its successor.

https://github.com/anthropics/claude-code-action/blob/main/docs/migration-guide.md
"""


def removed_inputs(site: Site) -> Iterator[Diagnostic]:
    """The finding about all inputs of a step that v1 of the action does not have."""
    inputs = table(site.step.get("with"))
    keys = [key for key in inputs if key in _SUCCESSORS]
    if not keys:
        return
    first, *others = (site.place("with", key, of_key=True) for key in keys)
    instead = _SUCCESSORS[keys[0]] or ""
    hint: str | None
    if others or instead.startswith("`"):
        hint = _moves(keys, {*inputs})
    elif instead.startswith("-"):
        hint = f"use `{instead}` in `claude_args`"
    else:
        hint = renaming(first, keys[0], instead or None, "it is called `{}`", COUNTS)
    names = [f"`{key}`" for key in keys]
    which = f"inputs {', '.join(names[:-1])} and {names[-1]}" if others else f"input {names[0]}"
    rest = "they do nothing" if others else "it does nothing"
    message = f"claude-code-action has no {which} since v1, so {rest}"
    related = [Related(place.location, "and here") for place in others]
    yield finding("LDO151", first.location, message, hint=hint, related=related)


def later_inputs(site: Site) -> Iterator[Diagnostic]:
    """The findings about the inputs of a step that the action has from v1 on."""
    for key in inputs_too_new(site):
        at = site.place("with", key, of_key=key == "prompt")
        hint: str | None = "use `allowed_tools`"
        if key == "prompt":
            name = "override_prompt" if site.input("override_prompt") else "direct_prompt"
            hint = renaming(at, key, name, "it is called `{}`", COUNTS)
        message = f"{site.run.program} has no input `{key}` before v1, so it does nothing"
        yield finding("LDO151", at.location, message, hint=hint)


def _moves(keys: Sequence[str], inputs: AbstractSet[str]) -> str:
    """The change that moves the values of several inputs to where they count, and takes the others out."""
    options: list[str] = []
    others: dict[str, str] = {}
    gone: list[str] = []
    for key in keys:
        instead = _SUCCESSORS[key] or ""
        if instead.startswith("-"):
            options.append(f"`{instead}` for `{key}`")
        elif not instead or instead in inputs or instead in others:
            gone.append(f"`{key}`")
        else:
            others[instead] = f"{instead if '`' in instead else f'`{instead}`'} for `{key}`"
    in_args = [f"{', '.join(options)} in `claude_args`"] if options else []
    moves = ", ".join([*in_args, *others.values()])
    steps = [*([f"use {moves}"] if moves else ()), *([f"take {' and '.join(gone)} out"] if gone else ())]
    return ", and ".join(steps)


def without_prompt(site: Site) -> Diagnostic | None:
    """The note that the action, from v1 on, never starts Claude: it has no prompt, and no event that may ask for it."""
    starters = site.trigger.starters.keys()
    is_asked = not starters or not starters <= _WITHOUT_WORDS or prompt_of(site) is not None
    if site.run.program != "claude-code-action" or not is_v1(site) or site.document.problems or is_asked:
        return None
    events = names_text(sorted(starters))
    message = f"claude-code-action starts no Claude, as its step has no `prompt`, which it needs at {events}"
    return finding("LDO152", site.place("uses").location, message, hint="give it a `prompt`")


def without_mentions(site: Site) -> Diagnostic | None:
    """The note that the action ends before it starts Claude, as nobody can mention it; None if somebody may.

    https://github.com/anthropics/claude-code-action/blob/beta/src/modes/registry.ts
    """
    mode = (site.input("mode") or ("tag",))[0]
    events = site.trigger.starters.keys()
    is_old = site.run.program == "claude-code-action" and is_before_v1(site) and not site.document.problems
    if not is_old or mode != "tag" or not events or not events <= _REFUSED_IN_TAG:
        return None
    which = " and ".join(f"`{each}`" for each in sorted(events))
    message = f"claude-code-action stops before it starts Claude, as before v1 its mode `tag` refuses {which}"
    return finding("LDO152", site.place("uses").location, message, hint="its `mode` must be `agent` for that")
