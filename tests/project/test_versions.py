"""The versions that llmdo is developed and tested with: the newest and the lowest that pyproject.toml admits."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LINES = {
    name: (ROOT / f".ci/{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("newest", "lowest")
}
VERSIONS = {name: dict(line.split("==") for line in lines) for name, lines in LINES.items()}
OF_DEVELOPMENT = [*map(Requirement, PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"])]
ADMITTED = [
    requirement
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, group)
]

each_list = pytest.mark.parametrize("name", VERSIONS)


def name_of(requirement: Requirement) -> str:
    return canonicalize_name(requirement.name)


@each_list
def test_a_list_has_names_and_versions_alone_each_name_once(name: str) -> None:
    assert not [line for line in LINES[name] if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)]
    assert LINES[name] == sorted(LINES[name], key=lambda line: line.split("=="))
    assert len(VERSIONS[name]) == len(LINES[name])


@each_list
def test_what_is_developed_with_is_in_the_list_and_in_its_range(name: str) -> None:
    assert [str(needed) for needed in OF_DEVELOPMENT if name_of(needed) not in VERSIONS[name]] == []
    listed = {needed: VERSIONS[name].get(name_of(needed)) for needed in ADMITTED}
    outside = [
        f"{needed} {version}"
        for needed, version in listed.items()
        if version and version not in needed.specifier
    ]
    assert outside == [], "run `make versions`"


def test_the_lowest_are_the_lower_bounds() -> None:
    for needed in OF_DEVELOPMENT:
        (bound,) = (Version(part.version) for part in needed.specifier if part.operator == ">=")
        assert bound == Version(VERSIONS["lowest"][name_of(needed)]), (
            f"{needed}: run `make versions`, or raise the bound"
        )


def test_what_overrides_the_ranges_of_others_is_a_range_of_ours() -> None:
    assert {*PYPROJECT["tool"]["uv"]["override-dependencies"]} <= {*PROJECT["optional-dependencies"]["dev"]}


def test_the_newest_are_newer() -> None:
    for name in ("pydantic-ai-slim", "pydantic"):
        assert Version(VERSIONS["newest"][name]) > Version(VERSIONS["lowest"][name])


def needed_by(requirement: Requirement, known: set[tuple[str, str]]) -> None:
    """Adds what is installed of a requirement, with each extra that is asked for, and all that it needs in turn."""
    for extra in ("", *requirement.extras):
        if (node := (name_of(requirement), extra)) not in known:
            known.add(node)
            for line in metadata.requires(requirement.name) or ():
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    needed_by(needed, known)


def test_the_list_of_this_environment_lacks_nothing_that_it_needs() -> None:
    """Nothing but the list is installed, so what is missing there would be missing in every new clone."""
    installed = {name_of(needed): metadata.version(needed.name) for needed in OF_DEVELOPMENT}
    lists = [each for each in VERSIONS.values() if installed.items() <= each.items()]
    if not lists:
        pytest.skip("this environment is of neither list: `make install-dev` makes one that is")
    known: set[tuple[str, str]] = set()
    for needed in OF_DEVELOPMENT:
        needed_by(needed, known)
    assert {name for name, _ in known} - lists[0].keys() == set()
