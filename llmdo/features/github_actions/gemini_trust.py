"""Whether Gemini CLI trusts the folder in which a step runs it: without a person it does not start in another one.

So it is since 0.39.1: https://geminicli.com/docs/cli/trusted-folders/#headless-and-automated-environments. Settings of
the project count for nothing there, nor do its files of variables (watched with 0.61.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.parts import table, text
from llmdo.features.github_actions.gemini_releases import TRUSTS, is_surely_from, script_of
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.walking import Site

_TRUST = "GEMINI_CLI_TRUST_WORKSPACE"
_NEAR = "GEMINI_TRUST_WORKSPACE"
"""A name that examples had for it once, and that Gemini CLI does not read."""
_KNOWN = re.compile(r"(?:actions|google-github-actions)/")
"""Steps before it that give it no variable and write none of its files."""
_MAY_TRUST = re.compile(
    r"_TRUST_WORKSPACE|TRUSTED_FOLDERS|trustedFolders|folderTrust|--skip-trust|_SYSTEM_|~/\.gemini|HOME\W{1,3}\.gemini"
)
"""Signs that a script has it trust the folder in another way."""

_HEAD = re.compile(r"github\.(?:head_ref|event\.(?:pull_request\.head|workflow_run\.head_))|refs/pull/")


def without_trust(site: Site) -> Diagnostic | None:
    """The note that Gemini CLI does not start, as nothing has it trust the folder; None if something may."""
    if site.run.program not in ("gemini", "run-gemini-cli") or not _is_plain(site):
        return None
    given = site.variables.get(_TRUST)
    value = given.value if given else ""
    if not is_surely_from(site, TRUSTS) or value.strip() == "true" or "$" in value:
        return None
    steps = (*site.before, site.step)
    if any(map(_MAY_TRUST.search, map(script_of, steps))) or not all(map(_is_known, site.before)):
        return None
    near = site.variables.get(_NEAR)
    line = f'{_TRUST}: "true"'
    hint = (
        f"write `{line}` under its `env`"
        if table(site.step.get("env"))
        else f"write `env: {{{line}}}` into its step"
    )
    if any(map(_is_of_head, site.before)):
        hint += ", but limit its tools first: it then starts in files of a pull request, whose settings and hooks count"
    if near and not given:
        hint += f"; `{_NEAR}` is a name that it does not read"
    message = "Gemini CLI does not start here from 0.39.1 on, as nothing has it trust the folder"
    return finding("LDO152", site.place(site.run.key).location, message, hint=hint)


def _is_plain(site: Site) -> bool:
    """Whether all that is around a step is in its job: a new machine of GitHub, no image, no action of files."""
    if site.route[:1] != ("jobs",):
        return False
    job = table(Place(site.document, site.route[:2]).data)
    return site.is_fresh and "container" not in job and not site.document.problems


def _is_of_head(step: object) -> bool:
    """Whether a step checks out the head of a pull request."""
    options = table(table(step).get("with"))
    is_checkout = text(table(step).get("uses")).startswith("actions/checkout@")
    return is_checkout and any(_HEAD.search(text(options.get(key))) for key in ("ref", "repository"))


def _is_known(step: object) -> bool:
    uses = text(table(step).get("uses"))
    return not uses or _KNOWN.match(uses) is not None
