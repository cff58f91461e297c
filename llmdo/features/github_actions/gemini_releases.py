"""The release of Gemini CLI that a step runs: what no file says may be any, and then the mildest of both counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.features.github_actions.walking import Site

WITHOUT_FORMER_KEYS = (0, 24, 0)
"""From it on Gemini CLI does not read the keys at the top of its settings by which it had lists of tools before 0.3.

https://github.com/google-gemini/gemini-cli/pull/16252; 0.23 still moves them into their sections.
"""
TRUSTS = (0, 39, 1)
"""From it on Gemini CLI does not start in a folder that nothing has it trust."""
LIMITS_SERVERS = (0, 41, 0)
"""From it on `tools.core` is about the tools of servers, too, and what it names is not asked about.

https://github.com/google-gemini/gemini-cli/issues/28361; that nobody is asked was watched with 0.61.0.
"""
_ACTION = re.compile(r"google-github-actions/run-gemini-cli@")
_PACKAGE = re.compile(r"@google/gemini-cli(?:@(?P<version>[^\s\"';|&]+))?")
_RELEASE = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)\.(?P<patch>\d+)")
_BRANCH_OF_RELEASES = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)")
_NEWEST = ("latest", "main", "nightly", "preview")


def is_surely_from(site: Site, release: tuple[int, int, int]) -> bool:
    """Whether a step runs a release or a later one; an expression may give an earlier one."""
    version = _version(site)
    numbers = _RELEASE.fullmatch(version)
    return version in _NEWEST or (numbers is not None and tuple(map(int, numbers.groups())) >= release)


def is_surely_before(site: Site, release: tuple[int, int, int]) -> bool:
    """Whether a step runs an earlier release than one."""
    numbers = _BRANCH_OF_RELEASES.match(_version(site))
    return numbers is not None and (*map(int, numbers.groups()),) < release[:2]


def script_of(step: Mapping[str, object]) -> str:
    """What a step runs; the settings that it gives to an action are those of the project."""
    return text(step.get("run")) or text(table(step.get("with")).get("script"))


def _version(site: Site) -> str:
    """The version that a step runs, as it is written; empty if no file says."""
    if site.run.key == "uses":
        if not _ACTION.match(text(site.step.get("uses"))) or "GEMINI_CLI_VERSION" in site.variables:
            return ""
        chosen = site.input("gemini_cli_version")
        return chosen[0].strip() if chosen else "latest"
    scripts = map(script_of, (*site.before, site.step))
    named = {match["version"] or "latest" for each in scripts for match in _PACKAGE.finditer(each)}
    return named.pop() if len(named) == 1 else ""
