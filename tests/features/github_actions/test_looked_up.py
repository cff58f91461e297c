"""What a step looks up for an agent: no stranger's words only where it surely lists those of members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path

_WORKFLOW = """
on: schedule
permissions: {{}}
jobs:
  sort:
    runs-on: ubuntu-latest
    steps:
      - id: open
        run: |
          {script}
          echo "text=$(cat open)" >> "$GITHUB_OUTPUT"
      - run: claude -p "Sort ${{{{ steps.open.outputs.text }}}}"
"""
_MEMBER = '.author_association == "MEMBER"'


def brings(root: Path, script: str) -> bool:
    """Whether the agent behind a step gets a stranger's words."""
    path = root / ".github/workflows/sort.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_WORKFLOW.format(script=script), encoding="utf-8")
    [agent] = foreign.read("github-actions", root).team.agents
    return any(grant.toolset == "steps.open" for grant in agent.grants)


@pytest.mark.parametrize(
    "script",
    [
        "gh issue list --author miller > open",
        "gh issue list -A miller --search 'no:label' --json title,body > open",
        "gh pr list --author=miller --json number,title > open",
        "gh search issues sieve --author miller --owner mill > open",
        f"gh api repos/mill/flour/issues --jq '.[] | select({_MEMBER})' > open",
        f"gh api repos/mill/flour/issues/7 -q 'select({_MEMBER}) | .body' > open",
        f"gh api repos/mill/flour/issues/7/comments --jq 'map(select({_MEMBER} or {_MEMBER})) | .[].body' > open",
        f"gh api search/issues --jq '[.items[] | select({_MEMBER})] | length' > open",
    ],
)
def test_what_a_named_person_or_members_wrote_is_no_strangers(tmp_path: Path, script: str) -> None:
    assert not brings(tmp_path, script)


@pytest.mark.parametrize(
    "script",
    [
        "gh issue list --search 'no:label label:\"status/needs-triage\"' --json title > open",
        "gh issue list -S 'label:triage no:label' --state open --limit 100 > open",
    ],
)
def test_a_search_that_contradicts_itself_brings_nothing(tmp_path: Path, script: str) -> None:
    assert not brings(tmp_path, script)


@pytest.mark.parametrize(
    "script",
    [
        "gh issue list --search 'no:label label:triage OR is:open' > open",
        "gh issue list --search 'no:label no:assignee' > open",
        "gh issue list --search 'no:label -label:triage' > open",
        "gh issue list --search 'no:label label:triage' --search is:open > open",
        "gh search issues 'no:label label:triage' > open",
        "gh issue list --search 'no:label label:triage' > open; gh issue list >> open",
        "gh issue list --json title > open",
        'gh issue list --author "$WHO" > open',
        "gh issue list --author miller --author ${{ github.actor }} > open",
        "gh issue list --author dependabot > open",
        "gh issue list --author @me > open",  # the app of the token, which hands on what others wrote
        "gh issue list --author app/raiser > open",
        "gh issue list --author miller --app raiser > open",
        "gh issue list --author miller --json comments > open",
        "gh issue list --author miller --search 'sieve OR author:baker' > open",
        'gh issue list --author miller --search "$WORDS" > open',
        "gh issue list --author miller --label $LABELS > open",
        "gh issue view 7 --author miller > open",
        "gh search code --author miller > open",
        "gh search issues 'sieve OR flour' --author miller > open",
        "gh issue list --author miller > open; gh pr list >> open",
        "gh issue list --author miller > open; gh api repos/mill/flour/issues >> open",
        f"gh api repos/mill/flour/issues --jq '.[] | select({_MEMBER}), .body' > open",
        f"gh api repos/mill/flour/issues --jq '.[] | select({_MEMBER} or true)' > open",
        f"gh api repos/mill/flour/issues --jq '.[] | select({_MEMBER} | not)' > open",
        f"gh api repos/mill/flour/issues --jq '. as $all | .[] | select({_MEMBER}) | $all' > open",
        f"gh api repos/mill/flour/issues --jq 'map(select({_MEMBER})) | inputs' > open",
        f"gh api repos/mill/flour/pulls/7/comments --jq '.[] | select({_MEMBER})' > open",
        f"gh api graphql -f query='{{ issues }}' --jq '.[] | select({_MEMBER})' > open",
        "gh api repos/mill/flour/issues --jq '.[] | select(.author_association != \"MEMBER\")' > open",
        "gh api repos/mill/flour/issues --jq '.[] | select(.author_association == \"CONTRIBUTOR\")' > open",
    ],
)
def test_whatever_others_may_have_written_is(tmp_path: Path, script: str) -> None:
    assert brings(tmp_path, script)
