"""What of tools that are not supported is seen: named where nothing else is there, and beside what was read."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.extensions.spec import Extension, ForeignFormat
from llmdo.foreign import unsupported
from llmdo.foreign.known import formats
from llmdo.foreign.tree import DiskTree

if TYPE_CHECKING:
    from pathlib import Path

CREW = "scout:\n  role: Scout\n  goal: Find\nwriter:\n  role: Writer\n  goal: Write\n"
AGENT = "---\nname: helper\ndescription: Helps.\ntools: Read\n---\nHelp.\n"


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def sightings(root: Path) -> list[tuple[str, str]]:
    return [(each.product, each.evidence) for each in unsupported.seen(DiskTree(root))]


@pytest.mark.parametrize(
    ("path", "text", "product", "evidence"),
    [
        ("src/desk/config/agents.yaml", CREW, "CrewAI", "2 agents in `src/desk/config/agents.yaml`"),
        ("langgraph.json", '{"graphs": {"a": "a.py:g"}}', "LangGraph", "1 graph in `langgraph.json`"),
        (".kilocodemodes", '{"customModes": [{"slug": "a"}]}', "Kilo Code", "1 mode in `.kilocodemodes`"),
        (
            ".kilocodemodes",
            "customModes:\n  - slug: a\n  - slug: b\n",
            "Kilo Code",
            "2 modes in `.kilocodemodes`",
        ),
        ("desk/root_agent.yaml", "name: a\n", "Google ADK", "1 agent: `desk/root_agent.yaml`"),
        (".clinerules", "Be brief.", "Cline", "1 file of rules: `.clinerules`"),
        (".clinerules/tone.md", "Be brief.", "Cline", "1 file of rules: `.clinerules/tone.md`"),
        ("desk/.clinerules", "Be brief.", "Cline", "1 file of rules: `desk/.clinerules`"),
        ("desk/.clinerules/tone.md", "Be brief.", "Cline", "1 file of rules: `desk/.clinerules/tone.md`"),
        ("desk/.windsurfrules", "Be brief.", "Windsurf", "1 file of rules: `desk/.windsurfrules`"),
        (".amazonq/cli-agents/a.json", "{}", "Amazon Q Developer", "1 agent: `.amazonq/cli-agents/a.json`"),
        (
            "requirements.txt",
            "OpenAI_Agents[viz]>=1\n",
            "OpenAI Agents SDK",
            "`requirements.txt` requires `openai-agents`",
        ),
        (
            "pyproject.toml",
            '[dependency-groups]\nmain = ["smolagents>=1"]\n',
            "smolagents",
            "`pyproject.toml` requires `smolagents`",
        ),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\nhelpers = ["smolagents>=1"]\n',
            "smolagents",
            "`pyproject.toml` has `smolagents` in the extra `helpers`",
        ),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\nall = ["smolagents"]\n[dependency-groups]\ndev = ["smolagents"]\n',
            "smolagents",
            "`pyproject.toml` requires `smolagents`",
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\nagno = "1"\n[tool.poetry.extras]\nhelpers = ["agno"]\n',
            "Agno",
            "`pyproject.toml` has `agno` in the extra `helpers`",
        ),
        (
            "web/package.json",
            '{"dependencies": {"@mastra/core": "1"}}',
            "Mastra",
            "`web/package.json` requires `@mastra/core`",
        ),
    ],
)
def test_it_is_named_with_what_was_seen(
    tmp_path: Path, path: str, text: str, product: str, evidence: str
) -> None:
    write(tmp_path, path, text)
    assert sightings(tmp_path) == [(product, evidence)]
    with pytest.raises(LlmdoError, match="nothing that llmdo reads") as error:
        foreign.read("auto", tmp_path)
    assert error.value.hint == f"not supported: {product} ({evidence})"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("config/agents.yaml", "agents:\n  root:\n    model: a\n"),
        ("config/agents.yaml", "[[[["),
        ("langgraph.json", '{"graphs": []}'),
        (".kilocodemodes", "\x00"),
        ("pyproject.toml", '[project]\nname = "crewai"\nkeywords = ["smolagents"]\n'),
        ("pyproject.toml", "crewai = ["),
        ("package.json", '["crewai"]'),
        ("requirements.txt", "crewai-tools\n# smolagents\n"),
    ],
)
def test_what_is_none_is_not_named(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path, path, text)
    assert sightings(tmp_path) == []


def test_a_tool_is_named_once_by_its_files_first(tmp_path: Path) -> None:
    write(tmp_path, "config/agents.yaml", CREW)
    write(tmp_path, "more/config/agents.yaml", CREW)
    write(tmp_path, "pyproject.toml", '[project]\ndependencies = ["crewai"]\n')
    assert sightings(tmp_path) == [("CrewAI", "4 agents in `config/agents.yaml` and 1 more")]


def test_one_file_of_such_a_tool_is_named_as_well(tmp_path: Path) -> None:
    write(tmp_path, "config/agents.yaml", CREW)
    with pytest.raises(LlmdoError) as error:
        foreign.read("auto", tmp_path / "config/agents.yaml")
    assert error.value.hint == "not supported: CrewAI (2 agents in `config/agents.yaml`)"


def test_another_format_than_the_one_asked_for_is_named(tmp_path: Path) -> None:
    write(tmp_path, ".cursor/mcp.json", '{"mcpServers": {"notes": {"command": "notes"}}}')
    with pytest.raises(LlmdoError, match="nothing of opencode") as error:
        foreign.read("opencode", tmp_path)
    assert error.value.hint == "there are files of cursor: --from cursor"
    write(tmp_path, ".claude/agents/helper.md", AGENT)
    with pytest.raises(LlmdoError) as error:
        foreign.read("opencode", tmp_path)
    assert error.value.hint == "there are files of claude and cursor: --from auto"


def test_a_tool_that_an_extension_reads_is_not_called_unsupported(tmp_path: Path) -> None:
    write(tmp_path, "config/agents.yaml", CREW)
    write(tmp_path, "package.json", '{"dependencies": {"@langchain/langgraph": "1"}}')
    write(tmp_path, "game/.crew/team.yaml", "")
    reads = ForeignFormat(("crew.yaml",), "acme_llmdo.crew", "CrewAI", below=(".crew/*.yaml",))
    known = formats([Extension(name="acme", formats={"crew": reads})])
    before = [each.product for each in unsupported.seen(DiskTree(tmp_path))]
    after = [(each.product, each.verdict) for each in unsupported.seen(DiskTree(tmp_path), known)]
    assert before == ["CrewAI", "LangGraph"]
    assert after == [("LangGraph", "not supported"), ("CrewAI", "not read: give `game` (`llmdo scan game`)")]


def test_a_folder_below_is_named_as_it_is_to_be_written(tmp_path: Path) -> None:
    write(tmp_path, "old desk/opencode.json", "{}")
    write(tmp_path, "old desk/.opencode/agent/helper.md", AGENT)
    write(tmp_path, "till/.codex/config.toml", "")
    write(tmp_path, "yard/.codex/config.toml", "")
    sighted = {each.product: (each.evidence, each.verdict) for each in unsupported.seen(DiskTree(tmp_path))}
    assert sighted["opencode"] == (
        "2 files in a folder below: `old desk/.opencode/agent/helper.md` and 1 more",
        "not read: give `old desk` (`llmdo scan 'old desk'`)",
    )
    assert sighted["Codex"][1] == "not read: give one of those folders, such as `till` (`llmdo scan till`)"


def test_no_evidence_is_kept_of_a_tool_that_is_supported() -> None:
    products = {form.product for form in formats().values()}
    assert not products & {*unsupported.PACKAGES.values(), *(each.product for each in unsupported.EVIDENCE)}


@pytest.mark.parametrize("form", formats())
def test_files_that_count_in_their_own_folder_alone_are_files_of_the_format(form: str) -> None:
    known = formats()[form]
    assert {PurePosixPath(path).parts[0] for path in known.below} <= {
        PurePosixPath(path).parts[0] for path in known.files
    }
