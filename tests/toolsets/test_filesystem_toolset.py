"""The built-in `filesystem`, called by agents with scripted models."""

from __future__ import annotations

import asyncio
import posixpath
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import BinaryContent, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from llmdo.graph import builtin
from llmdo.policy.authority import Capability, scope_contains
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.filesystem import MAX_FILE, MAX_TEXT, FilesystemToolset
from llmdo.toolsets.paths import PathMap, PathRefused

PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "input").mkdir()
    (tmp_path / "input/acme.md").write_text("one\ntwo\nthree\n")
    (tmp_path / "input/logo.png").write_bytes(PNG)
    (tmp_path / "input/.hidden").write_text("")
    (tmp_path / "secret.txt").write_text("canary")
    return tmp_path


@pytest.fixture
def make(workspace):
    with Root.open(workspace) as root:
        yield lambda config, **paths: FilesystemToolset(
            root, config, PathMap.of(paths.get("paths", {})), paths.get("protected", ())
        )


def ask(toolset: FilesystemToolset, *calls: tuple[str, dict[str, object]]) -> list[ToolReturnPart]:
    """What a model that makes all these calls at once is told."""

    def script(messages, info):
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        parts = [ToolCallPart(name, args, tool_call_id=str(at)) for at, (name, args) in enumerate(calls)]
        return ModelResponse(parts=parts)

    result = asyncio.run(Agent(FunctionModel(script), toolsets=[toolset]).run("go"))
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part for part in parts if getattr(part, "part_kind", "") in ("tool-return", "retry-prompt")]


def say(toolset: FilesystemToolset, name: str, **args: object) -> str:
    (part,) = ask(toolset, (name, args))
    assert part.outcome == "success", part.content
    return part.content


def refused(toolset: FilesystemToolset, name: str, **args: object) -> str:
    (part,) = ask(toolset, (name, args))
    assert part.outcome == "failed", part
    return part.content


def raised(toolset: FilesystemToolset, name: str, **args: object) -> set[str]:
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    return {str(capability) for capability in toolset.get_capabilities(name, args, context, {})}


def offered(toolset: FilesystemToolset) -> dict[str, object]:
    model = TestModel(call_tools=[])
    asyncio.run(Agent(model, toolsets=[toolset]).run("go"))
    return {tool.name: tool for tool in model.last_model_request_parameters.function_tools}


@pytest.mark.parametrize(
    "config",
    [{}, {"read": ["input/**"]}, {"write": ["reports/**"]}, {"read": [], "write": ["a"]}, {"read": []}],
)
def test_exactly_the_tools_that_check_knows_are_offered(make, config):
    assert set(offered(make(config))) == set(builtin.tools("filesystem", config))


def test_a_model_is_told_what_each_argument_means(make):
    tools = offered(make({"write": ["**"]}))
    for tool in tools.values():
        assert tool.description
        assert all(argument["description"] for argument in tool.parameters_json_schema["properties"].values())
    assert tools["read_file"].parameters_json_schema["required"] == ["path"]
    assert tools["list_files"].parameters_json_schema.get("required", []) == []


def test_a_file_is_read_whole_or_in_parts(make):
    toolset = make({})
    assert say(toolset, "read_file", path="input/acme.md") == "one\ntwo\nthree\n"
    assert say(toolset, "read_file", path="input/acme.md", offset=2) == "three\n"
    part = say(toolset, "read_file", path="input/acme.md", offset=1, limit=1)
    assert part == "two\n(lines 2 to 2 of 3; go on with offset=2)"
    assert "nothing after line 9" in refused(toolset, "read_file", path="input/acme.md", offset=9)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfhello", "hello"),
        (b"", ""),
        (b"a\r\nb\x0cc\xe2\x80\xa8d", "a\r\nb\x0cc\u2028d"),
    ],
)
def test_text_is_kept_as_it_is_but_for_a_byte_order_mark(make, workspace, content, text):
    (workspace / "a.txt").write_bytes(content)
    assert say(make({}), "read_file", path="a.txt") == text


def test_long_text_is_read_with_offset_and_limit(make, workspace):
    (workspace / "log.txt").write_text("x" * 99 + "\n")
    (workspace / "big.txt").write_text(("x" * 99 + "\n") * 20_000)
    assert "read it in parts with `offset` and `limit`" in refused(make({}), "read_file", path="big.txt")
    assert "20,000 lines" in refused(make({}), "read_file", path="big.txt")
    assert len(say(make({}), "read_file", path="big.txt", offset=19_000)) == 100_000
    (workspace / "huge.txt").write_bytes(b"x" * (MAX_FILE + 1))
    assert "larger than 10,000,000 bytes" in refused(make({}), "read_file", path="huge.txt", limit=1)
    (workspace / "line.txt").write_bytes(b"x" * MAX_TEXT)
    assert len(say(make({}), "read_file", path="line.txt")) == MAX_TEXT


def test_an_image_comes_back_as_an_attachment(make):
    picture = say(make({}), "read_file", path="input/logo.png")
    assert isinstance(picture, BinaryContent)
    assert (picture.data, picture.media_type) == (PNG, "image/png")


def test_a_pdf_of_plain_ascii_is_an_attachment_too(make, workspace):
    (workspace / "a.PDF").write_bytes(b"%PDF-1.4\n%%EOF\n")
    assert say(make({}), "read_file", path="a.PDF").media_type == "application/pdf"


def test_other_bytes_are_refused(make, workspace):
    (workspace / "a.bin").write_bytes(b"\xff\xfe")
    (workspace / "b.txt").write_bytes(b"a\0b")
    assert "neither UTF-8 text nor" in refused(make({}), "read_file", path="a.bin")
    assert "neither UTF-8 text nor" in refused(make({}), "read_file", path="b.txt")


def test_a_write_says_what_it_did(make, workspace):
    toolset = make({"write": ["reports/**"]})
    text = "é" * 617
    assert (
        say(toolset, "write_file", path="reports/a.md", content=text) == "created reports/a.md (1,234 bytes)"
    )
    assert say(toolset, "write_file", path="reports/a.md", content="") == "replaced reports/a.md (0 bytes)"
    say(toolset, "write_file", path="reports/a.md", content="a\r\nb\n")
    assert (workspace / "reports/a.md").read_bytes() == b"a\r\nb\n"


def test_a_write_that_is_too_large_is_refused(make, workspace):
    toolset = make({"write": ["**"]})
    refusal = refused(toolset, "write_file", path="a.md", content="x" * (MAX_FILE + 1))
    assert refusal == "`a.md` was not written: its content is larger than 10,000,000 bytes"
    assert not (workspace / "a.md").exists()


def test_a_listing_is_in_terms_of_the_alias_that_was_used(make):
    toolset = make({}, paths={"decks/": "input/", "here/": "."})
    assert say(toolset, "list_files", path="decks/") == "decks/acme.md\ndecks/logo.png"
    assert say(toolset, "list_files", path="decks", pattern="*.md") == "decks/acme.md"
    assert say(toolset, "list_files", path="here", pattern="*.txt") == "here/secret.txt"
    assert say(toolset, "list_files") == "input/acme.md\ninput/logo.png\nsecret.txt"
    assert say(toolset, "read_file", path="decks/acme.md").startswith("one")


def test_every_listed_name_reads_the_listed_file(make, workspace):
    (workspace / "other").mkdir()
    (workspace / "other/acme.md").write_text("other")
    toolset = make({}, paths={"decks/": "input/", "decks/acme.md": "other/acme.md", "other/": "input/"})
    listing = say(toolset, "list_files", path="decks")
    assert listing == "decks/logo.png\n(not shown: 1 files that cannot be named from here)"


def test_a_name_that_would_be_too_deep_is_not_listed(make):
    alias = "a/" * 64
    listing = say(make({}, paths={alias: "input/"}), "list_files", path=alias)
    assert listing == "(not shown: 2 files that cannot be named from here)"


def test_hidden_files_are_listed_only_by_a_pattern_with_the_dot(make):
    assert say(make({}), "list_files", path="input", pattern=".*") == "input/.hidden"
    assert ".hidden" not in say(make({}), "list_files", path="input", pattern="**")


def test_an_empty_or_cut_or_partial_listing_says_so(make, workspace):
    assert say(make({}), "list_files", pattern="*.none") == "no files here match"
    (workspace / "many").mkdir()
    for number in range(1005):
        (workspace / f"many/{number:04}").touch()
    lines = say(make({}), "list_files", path="many").splitlines()
    assert len(lines) == 1001
    assert lines[-1] == "(cut off after 1,000 files: ask for a folder or a narrower pattern)"
    (workspace / "input/link").symlink_to("acme.md")
    assert "(left out: 1, being links" in say(make({}), "list_files", path="input")


def test_nothing_outside_the_configured_scopes_is_listed_read_or_written(make, workspace):
    toolset = make({"read": ["input/**"], "write": ["reports/**"]}, paths={"sly.txt": "secret.txt"})
    assert say(toolset, "list_files") == "input/acme.md\ninput/logo.png"
    for path in ("secret.txt", "sly.txt", "./input/../secret.txt", "reports/a.md"):
        assert "canary" not in refused(toolset, "read_file", path=path)
    assert "may read: `input/**`" in refused(toolset, "read_file", path="sly.txt")
    assert "may list: `input/**`" in refused(toolset, "list_files", path="reports")
    assert "may write: `reports/**`" in refused(toolset, "write_file", path="input/acme.md", content="")
    assert not (workspace / "reports").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "path", ["", "..", "/etc/passwd", "~", "input", "input/acme.md/none", "a\0b", "\n", "input/link"]
)
def test_a_bad_path_is_a_failed_result_that_ends_nothing(make, workspace, path):
    (workspace / "input/link").symlink_to(workspace / "secret.txt")
    toolset = make({"write": ["**"]}, paths={"decks/": "input/"})
    calls = [("read_file", {"path": path}), ("write_file", {"path": path, "content": "x"})] * 4
    parts = ask(toolset, *calls, ("list_files", {"path": path or ".", "pattern": "../*"}))
    assert [part.outcome for part in parts if part.tool_name == "read_file"] == ["failed"] * 4
    assert all(str(workspace) not in str(part.content) for part in parts)
    assert (workspace / "secret.txt").read_text() == "canary"


def test_a_refusal_speaks_of_the_path_that_the_model_used(make):
    toolset = make({}, paths={"decks/": "input/"})
    assert refused(toolset, "read_file", path="decks/none.md").startswith("`decks/none.md` does not exist")
    assert refused(toolset, "list_files", path="decks/none").startswith("`decks/none` does not exist")


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("read_file", {"path": "decks/acme.md"}, {"fs.read:input/acme.md"}),
        ("read_file", {"path": "./decks//acme.md", "offset": 1}, {"fs.read:input/acme.md"}),
        ("read_file", {"path": "llmdo.toml"}, {"fs.read:llmdo.toml"}),
        ("write_file", {"path": "decks/a.md", "content": ""}, {"fs.write:input/a.md"}),
        (
            "write_file",
            {"path": "decks/LLMDO.toml", "content": ""},
            {"fs.write:input/LLMDO.toml", "fs.write.protected:input/LLMDO.toml"},
        ),
        (
            "write_file",
            {"path": "code.py", "content": ""},
            {"fs.write:tools/calc.py", "fs.write.protected:tools/calc.py"},
        ),
        ("list_files", {}, {"fs.list:**"}),
        ("list_files", {"path": "decks", "pattern": "*"}, {"fs.list:input/**"}),
        ("read_file", {"path": "../x"}, {"fs.read"}),
        ("read_file", {"path": "."}, {"fs.read"}),
        ("write_file", {"path": "/x", "content": ""}, {"fs.write"}),
        ("list_files", {"path": ".."}, {"fs.list"}),
        ("format_disk", {}, {"capability.undeclared"}),
    ],
)
def test_a_call_raises_what_it_does_to_the_real_path(make, name, args, expected):
    paths = {"decks/": "input/", "code.py": "tools/calc.py"}
    assert raised(make({"write": ["**"]}, paths=paths, protected=["tools/calc.py"]), name, **args) == expected


def test_a_listing_raises_those_parts_of_a_folder_that_the_configuration_admits(make):
    toolset = make({"read": ["input/**", "notes/deep/**", "a.md"]})
    assert raised(toolset, "list_files") == {"fs.list:input/**", "fs.list:notes/deep/**", "fs.list:a.md"}
    assert raised(toolset, "list_files", path="notes") == {"fs.list:notes/deep/**"}
    assert raised(toolset, "list_files", path="input/x") == {"fs.list:input/x/**"}
    assert raised(toolset, "list_files", path="private") == {"fs.list:private/**"}


paths = st.lists(st.sampled_from(["input", "acme.md", "secret.txt", "..", ".", "", "decks"]), max_size=4).map(
    "/".join
)
configs = st.sampled_from([{}, {"read": ["input/**"]}, {"read": ["secret.txt"]}, {"read": ["input/acme.md"]}])


@given(path=paths, config=configs)
def test_whatever_is_read_was_raised_and_declared(tmp_path_factory, path, config):
    toolset, read = watched(tmp_path_factory, config)
    capabilities = raised(toolset, "read_file", path=path)
    declared = builtin.tools("filesystem", config)["read_file"].capabilities
    (part,) = ask(toolset, ("read_file", {"path": path}))
    if part.outcome == "success":
        assert capabilities == {f"fs.read:{real}" for real in read}
        assert all(
            any(capability.contains(Capability.parse(text)) for capability in declared)
            for text in capabilities
        )


def watched(tmp_path_factory, config):
    """A toolset over a real workspace, and the real paths that it opens."""
    folder = tmp_path_factory.getbasetemp() / "watched"
    if not folder.exists():
        (folder / "input").mkdir(parents=True)
        (folder / "input/acme.md").write_text("deck")
        (folder / "secret.txt").write_text("secret")
    read: list[str] = []

    class Watched(Root):
        def read(self, path, limit):
            read.append(path)
            with Root.open(folder) as root:
                return root.read(path, limit)

    return FilesystemToolset(Watched(None), config, PathMap.of({"decks/": "input/"})), read


def test_calls_of_one_response_run_at_the_same_time(make, workspace):
    together = threading.Barrier(2, timeout=10)

    class Meeting(Root):
        def read(self, path, limit):
            together.wait()
            return b"met"

    toolset = FilesystemToolset(Meeting(None), {}, PathMap())
    parts = ask(toolset, ("read_file", {"path": "a"}), ("read_file", {"path": "b"}))
    assert [part.content for part in parts] == ["met", "met"]


def test_a_refused_path_keeps_its_parts():
    error = PathRefused("a", "is odd", hint="do better")
    assert (error.path, error.reason, error.hint, error.message) == ("a", "is odd", "do better", "`a` is odd")


def test_an_edit_replaces_the_one_place_that_has_the_text(make, workspace):
    toolset = make({"write": ["input/**"]}, paths={"decks/": "input/"})
    assert say(toolset, "edit_file", path="decks/acme.md", old="two\nthree", new="2\n3") == (
        "changed decks/acme.md (8 bytes)"
    )
    assert (workspace / "input/acme.md").read_text() == "one\n2\n3\n"
    (workspace / "input/crlf.md").write_bytes(b"a\r\nb\xc3\xa9\r\n")
    say(toolset, "edit_file", path="input/crlf.md", old="bé", new="")
    assert (workspace / "input/crlf.md").read_bytes() == b"a\r\n\r\n"


@pytest.mark.parametrize(
    ("content", "old", "message"),
    [
        ("a\nb\na\n", "a", "the text occurs 2 times, in lines 1, 3; give more of what is around it"),
        ("aaa", "aa", "the text occurs 2 times, in lines 1, 1; give more"),
        ("a\n" * 9, "a", "occurs 9 times, in lines 1, 2, 3, 4, 5, ...;"),
        ("x\n  def f():\n", "def f( ):", "the text is not in it; read the file"),
        ("x\n  def f():\n\tpass\n", "def  f():\n    pass", "line 2 begins like it; blanks count"),
        ("x", "", "the text to replace is empty"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing_and_says_what_is_there(
    make, workspace, content, old, message
):
    (workspace / "input/a.md").write_text(content)
    assert message in refused(make({"write": ["**"]}), "edit_file", path="input/a.md", old=old, new="z")
    assert (workspace / "input/a.md").read_text() == content


def test_edits_of_one_file_do_not_undo_each_other(make, workspace):
    (workspace / "input/a.md").write_text("".join(f"<{number}>\n" for number in range(20)))
    calls = [
        ("edit_file", {"path": "input/a.md", "old": f"<{number}>", "new": str(number)})
        for number in range(20)
    ]
    parts = ask(make({"write": ["**"]}), *calls)
    assert {part.outcome for part in parts} == {"success"}
    assert (workspace / "input/a.md").read_text() == "".join(f"{number}\n" for number in range(20))


def test_an_edit_needs_both_to_read_and_to_write(make):
    toolset = make({"read": ["input/**", "notes/a.md"], "write": ["input/out/**", "notes/**", "new/**"]})
    declared = builtin.tools(
        "filesystem", {"read": ["input/**", "notes/a.md"], "write": ["notes/**", "new/**"]}
    )
    assert {str(capability) for capability in declared["edit_file"].capabilities} == {
        "fs.read:notes/a.md",
        "fs.write:notes/a.md",
        "fs.write.code:notes/a.md",
        "fs.write.protected:notes/a.md",
    }
    assert "may read" in refused(toolset, "edit_file", path="new/a.md", old="a", new="b")
    assert "may write" in refused(toolset, "edit_file", path="input/acme.md", old="a", new="b")
    assert "edit_file" not in offered(make({"read": ["input/**"], "write": ["reports/**"]}))
    assert raised(make({"write": ["**"]}), "edit_file", path="a.worker", old="a", new="b") == {
        "fs.read:a.worker",
        "fs.write:a.worker",
        "fs.write.protected:a.worker",
    }


@pytest.mark.parametrize("path", [".env", "./.env", ".ENV", "input/.env", "input/keys/id_rsa", ".git/config"])
def test_reading_what_mostly_holds_secrets_is_raised_beside_the_reading(make, path):
    toolset, real = make({}), path.removeprefix("./")
    assert raised(toolset, "read_file", path=path) == {f"fs.read:{real}", f"fs.read.protected:{real}"}


def test_the_real_file_counts_where_an_alias_stands_for_a_secret(make):
    toolset = make({}, paths={"notes.txt": "input/.env", "history/": ".git/"})
    assert "fs.read.protected:input/.env" in raised(toolset, "read_file", path="notes.txt")
    assert "fs.read.protected:.git/HEAD" in raised(toolset, "read_file", path="history/HEAD")
    assert "fs.read.protected:.git/**" in raised(toolset, "list_files", path="history")


def test_an_edit_of_a_secret_reads_it_and_a_write_does_not(make):
    toolset = make({"write": ["**"]})
    edited = raised(toolset, "edit_file", path="input/server.pem", old="a", new="b")
    assert edited == {
        "fs.read:input/server.pem",
        "fs.read.protected:input/server.pem",
        "fs.write:input/server.pem",
    }
    assert raised(toolset, "write_file", path="input/server.pem", content="") == {"fs.write:input/server.pem"}


def test_a_listing_inside_a_folder_of_secrets_is_raised_beside_the_listing(make):
    toolset = make({})
    for folder in (".git", "./.git/", ".git/refs", ".LLMDO/runs", "sub/.ssh"):
        real = posixpath.normpath(folder)
        assert raised(toolset, "list_files", path=folder) == {
            f"fs.list:{real}/**",
            f"fs.read.protected:{real}/**",
        }
    assert raised(toolset, "list_files", path=".") == {"fs.list:**"}
    assert raised(toolset, "list_files", path="input") == {"fs.list:input/**"}


@pytest.mark.parametrize("pattern", [".git/**", ".*/**", "**/.*", ".*/**/.*/*", "input/.ssh/*", "**/.ssh/*"])
def test_no_pattern_leads_a_listing_into_a_folder_of_secrets(make, workspace, pattern):
    for path in (".git/refs/heads/main", "input/.ssh/known_hosts", ".cache/.git/x", ".notes/a.txt"):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text("x")
    answer = say(make({}), "list_files", pattern=pattern)
    for inside in ("refs", "known_hosts", ".cache/.git/x"):
        assert inside not in answer
    assert "(not entered, as secrets are kept there: `" in answer or pattern == "**/.*"


def test_a_listing_that_was_decided_on_shows_what_is_in_a_folder_of_secrets(make, workspace):
    (workspace / ".git/refs").mkdir(parents=True)
    (workspace / ".git/refs/main").write_text("x")
    assert say(make({}), "list_files", path=".git") == ".git/refs/main"


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    """A folder with nothing in it."""
    with Root.open(tmp_path_factory.mktemp("nothing")) as root:
        yield root


NAMES = st.sampled_from(["read_file", "edit_file", "list_files", "write_file"])
DEEP = st.lists(st.sampled_from(["in", "a", ".env", ".git", "x.pem"]), min_size=1, max_size=3).map("/".join)
CONFIGS = st.sampled_from(
    [
        {"write": ["**"]},
        {"read": ["in/**"], "write": ["in/a"]},
        {"read": [".git/**", "in/a"]},
        {"read": ["a"]},
        {"read": [".env"], "write": [".env"]},
    ]
)


@given(NAMES, DEEP, CONFIGS)
def test_a_call_within_its_scopes_raises_only_what_is_declared(nothing, name, path, config):
    toolset = FilesystemToolset(nothing, config, PathMap.of({}))
    tool = builtin.tools("filesystem", config).get(name)
    if tool is None:
        return
    for capability in toolset.get_capabilities(name, {"path": path}, None, {}):
        inside = any(scope_contains(most.scope, capability.scope) for most in tool.capabilities)
        assert not inside or any(most.contains(capability) for most in tool.capabilities)


@given(NAMES, DEEP, CONFIGS)
def test_a_call_raises_something_of_each_group_that_its_tool_always_raises(nothing, name, path, config):
    toolset = FilesystemToolset(nothing, config, PathMap.of({}))
    tool = builtin.tools("filesystem", config).get(name)
    if tool is None:
        return
    calls = toolset.get_capabilities(name, {"path": path}, None, {})
    if all(any(most.contains(capability) for most in tool.capabilities) for capability in calls):
        for group in builtin.raised_always("filesystem", tool):
            assert any(most.contains(capability) for most in group for capability in calls)
