"""The codes of findings.

Made by `python -m llmdo.cli.tabulate`: change the checks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    Severity: TypeAlias = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Every severity, the worst first."""

CODES: Mapping[str, tuple[str, Severity]] = {
    "LDO101": ("invalid-syntax", "error"),
    "LDO102": ("unknown-key", "error"),
    "LDO103": ("invalid-value", "error"),
    "LDO104": ("missing-key", "error"),
    "LDO105": ("unreadable-file", "error"),
    "LDO106": ("missing-file", "error"),
    "LDO107": ("path-escape", "error"),
    "LDO108": ("case-collision", "error"),
    "LDO109": ("missing-header", "error"),
    "LDO110": ("unsupported-llmdo", "error"),
    "LDO111": ("pattern-without-match", "warning"),
    "LDO112": ("compiled-module", "warning"),
    "LDO113": ("missing-root", "warning"),
    "LDO114": ("refused-extension", "error"),
    "LDO115": ("empty-prompt", "warning"),
    "LDO116": ("unread-team", "warning"),
    "LDO150": ("foreign-guess", "warning"),
    "LDO151": ("foreign-key", "warning"),
    "LDO152": ("foreign-no-agent", "note"),
    "LDO153": ("foreign-unread", "error"),
    "LDO154": ("foreign-skipped", "note"),
    "LDO201": ("name-collision", "error"),
    "LDO202": ("unknown-toolset", "error"),
    "LDO203": ("unknown-worker", "error"),
    "LDO204": ("unknown-model", "error"),
    "LDO205": ("missing-attribute", "error"),
    "LDO206": ("tool-collision", "error"),
    "LDO207": ("unknown-capability", "error"),
    "LDO208": ("unknown-tool", "error"),
    "LDO209": ("unknown-check", "error"),
    "LDO210": ("incompatible-model", "warning"),
    "LDO211": ("unfit-function", "error"),
    "LDO212": ("undeclared-call", "error"),
    "LDO213": ("unknown-entry", "error"),
    "LDO214": ("unknown-format", "error"),
    "LDO215": ("unscripted-worker", "warning"),
    "LDO250": ("foreign-unknown-name", "warning"),
    "LDO251": ("foreign-name-collision", "warning"),
    "LDO301": ("delegation-cycle", "error"),
    "LDO302": ("depth-exceeded", "error"),
    "LDO303": ("unreachable-worker", "warning"),
    "LDO304": ("unused-toolset", "warning"),
    "LDO305": ("unused-path", "warning"),
    "LDO350": ("foreign-cycle", "warning"),
    "LDO351": ("foreign-unreached", "note"),
    "LDO401": ("stale-lock", "error"),
    "LDO402": ("missing-lock", "error"),
    "LDO403": ("conflicted-lock", "error"),
    "LDO404": ("newer-lock", "error"),
    "LDO405": ("unreadable-lock", "error"),
    "LDO406": ("newer-revision", "note"),
    "LDO501": ("outside-ceiling", "error"),
    "LDO502": ("delegate-gain", "warning"),
    "LDO503": ("dead-rule", "warning"),
    "LDO504": ("open-reach", "warning"),
    "LDO505": ("loosened-default", "warning"),
    "LDO506": ("block-without-ceiling", "warning"),
    "LDO507": ("tool-never-runs", "warning"),
    "LDO510": ("private-data-way-out", "warning"),
    "LDO511": ("idle-acceptance", "warning"),
    "LDO512": ("shell-rule-example", "error"),
    "LDO513": ("open-launcher", "warning"),
    "LDO514": ("open-answer", "warning"),
    "LDO515": ("unlabelled-file", "warning"),
    "LDO516": ("idle-flow", "warning"),
    "LDO517": ("unstated-targets", "warning"),
    "LDO518": ("idle-seal", "warning"),
    "LDO531": ("hidden-text", "warning"),
    "LDO532": ("instructing-text", "warning"),
    "LDO533": ("foreign-tool-named", "warning"),
    "LDO534": ("unpinned-server", "warning"),
    "LDO535": ("server-shell", "warning"),
    "LDO536": ("clear-text-server", "warning"),
    "LDO537": ("secret-in-manifest", "error"),
    "LDO550": ("foreign-delegate-gain", "warning"),
    "LDO551": ("foreign-inherits-everything", "warning"),
    "LDO552": ("foreign-private-data-way-out", "warning"),
    "LDO553": ("foreign-loose-rule", "warning"),
    "LDO554": ("foreign-unasked", "warning"),
    "LDO555": ("foreign-perhaps-way-out", "note"),
    "LDO556": ("foreign-stranger-pushes", "warning"),
    "LDO557": ("foreign-client-runs", "warning"),
}
"""Every code, its name and its severity. A code never changes its meaning and is never used again."""
