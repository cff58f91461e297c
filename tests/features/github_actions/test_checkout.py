"""What earlier steps of a job did to the files that its agent reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path

ALLOWS = '{"permissions": {"allow": ["Bash"]}, "mcpServers": {"docs": {"command": "docs"}}}'
CHECKOUT = "      - uses: actions/checkout@v4\n"


def raised(root: Path, before: str, run: str = "claude -p x") -> set[str]:
    """What an agent reaches after these steps, in a repository whose settings allow everything."""
    for path in (".claude/settings.json", ".mcp.json", "ci/settings.json", ".github/workflows/a.yml"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(ALLOWS)
    steps = f"{CHECKOUT}{before}      - run: {run}\n"
    (root / ".github/workflows/a.yml").write_text(
        f"on: push\njobs:\n  a:\n    runs-on: self-hosted\n    steps:\n{steps}"
    )
    (agent,) = foreign.read("github-actions", root).team.agents
    return {str(each) for grant in agent.grants for each in grant.capabilities}


@pytest.mark.parametrize(
    ("before", "is_free"),
    [
        ("", True),
        ("      - run: rm -f .claude/settings.json\n", False),
        ('      - run: rm -rf "$GITHUB_WORKSPACE/.claude"\n', False),
        ("      - run: |\n          if [ -d .claude ]; then rm -rf ./.claude; fi\n", False),
        ("      - run: git rm -rq .claude\n", False),
        ("      - run: mv .claude /tmp/kept\n", False),
        ("      - run: rm -f .claude/settings.local.json\n", True),
        ("      - run: rm -rf .claude\n        if: github.event_name == 'push'\n", True),
        ("      - run: rm -rf .claude\n        working-directory: docs\n", True),
        ("      - run: cd docs && rm -rf .claude\n", True),
        ("      - run: echo rm -rf .claude\n", True),
        (f"      - run: rm -rf .claude\n{CHECKOUT}", True),
        ("      - run: rm -rf .claude && git checkout -- .\n", True),
        ("      - run: |\n          echo '{}' > .claude/settings.json\n", False),
        (
            "      - run: |\n          cat > .claude/settings.json <<'EOF'\n          {\"permissions\": {}}\n          EOF\n",
            False,
        ),
    ],
)
def test_settings_that_a_step_removed_or_replaced_do_not_hold(
    tmp_path: Path, before: str, is_free: bool
) -> None:
    assert ("proc.exec.unlisted" in raised(tmp_path, before)) is is_free


def test_a_removal_in_the_step_of_the_agent_counts_before_the_agent_alone(tmp_path: Path) -> None:
    assert "proc.exec.unlisted" not in raised(tmp_path, "", "rm -rf .claude; claude -p x")
    assert "proc.exec.unlisted" in raised(tmp_path, "", "claude -p x; rm -rf .claude")


def test_what_a_step_writes_is_read(tmp_path: Path) -> None:
    before = "      - run: |\n          cat << EOF > /tmp/s.json\n          {text}\n          EOF\n"
    written = before.format(text='{"permissions": {"allow": ["WebFetch(domain:a.example)"]}}')
    assert "net.connect:a.example" in raised(tmp_path, written, "claude -p x --settings /tmp/s.json")
    unknown = before.format(text="$(make-settings)")
    assert "x.claude.any" in raised(tmp_path, unknown, "claude -p x --settings /tmp/s.json")
    assert "x.claude.any" in raised(tmp_path, unknown.replace("/tmp/s.json", ".claude/settings.json"))
