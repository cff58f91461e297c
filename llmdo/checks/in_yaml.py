"""Findings about a team in one file: what their words say of `llmdo.toml`, said of the file that is the manifest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.nearest import MANIFEST
from llmdo.base.source import Location
from llmdo.base.values import replace

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic

_TABLES = "approvals|check|entries|flows|models|paths|policy|sources|toolsets"
_TABLE = re.compile(rf"\[\[?((?:{_TABLES})(?:\.[\w.-]+)*)\]\]?")
_BELOW_WORKSPACE = re.compile(r"`?\[workspace\] ?([\w-]*)`?")
_LINE = re.compile(r"(?<=[\w\"*-]) = (?=[\"\[{]|true|false|\d)")


def in_yaml(finding: Diagnostic, manifest: str) -> Diagnostic:
    """The finding about a workspace whose manifest is the YAML of the file `manifest`."""
    at = Location(manifest) if finding.at == Location(MANIFEST) else finding.at
    hint = finding.hint and _LINE.sub(": ", _named(finding.hint, manifest))
    return replace(finding, at=at, message=_named(finding.message, manifest), hint=hint)


def _named(text: str, manifest: str) -> str:
    """A text in which tables are mappings and the manifest has its name."""
    text = _BELOW_WORKSPACE.sub(lambda key: f"`{key[1]}`" if key[1] else "the top level", text)
    return _TABLE.sub(r"\1", text).replace(MANIFEST, manifest)
