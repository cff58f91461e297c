"""`add` and `remove`: only what is asked for changes, and no name is left dangling."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo import checks, scaffold
from llmdo.base.diagnostic import LlmdoError
from llmdo.scaffold import splice
from llmdo.workspace import project
from tests.support.laws import tried

MANIFEST = """\
# The team.
schema = 1

[workspace]
name = "sample"
workers = ["workers/*.worker"]
toolset-modules = ["tools/*.py"]

# Who may do what.
[approvals.rules]
"fs.write:reports/**" = "allowed"  # reports
"x.calc.cpu" = "allowed"

[toolsets.calc]
python = "tools/calc.py:calc_tools"

[entries.main]
worker = "main"

[entries.nightly]
function = "entries.py:nightly"
calls = ["writer"]

[paths]
"notes/" = "input/"

[[check.accept]]
code = "LDO510"
entry = "nightly"
reason = "known"
"""

CALC = """\
from pydantic_ai import FunctionToolset

calc_tools = FunctionToolset()
other_tools = FunctionToolset()


@calc_tools.tool_plain(metadata={"capabilities": ["x.calc.cpu"]})
def double(number: int) -> int:
    return 2 * number
"""

FILES = {
    "llmdo.toml": MANIFEST,
    "tools/calc.py": CALC,
    "entries.py": "async def nightly(runtime, input):\n    return input\n",
    "input/a.txt": "a",
    "workers/main.worker": "---\nname: main\ntoolsets:\n  writer: {}\n  calc: {}\nmay: [x.calc, fs.read]\n---\nWork.\n",
    "workers/writer.worker": "---\nname: writer\n---\nWrite.\n",
    "workers/lonely.worker": "---\nname: lonely\nentry: true\n---\nSit.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def manifest(root: Path) -> str:
    return (root / "llmdo.toml").read_bytes().decode()


def says(root: Path, *route: str) -> Any:
    value = tomllib.loads(manifest(root))
    for name in route:
        value = value[name]
    return value


def errors(root: Path) -> list[str]:
    findings = checks.check(project.read(root))
    return [f"{finding.code} {finding.message}" for finding in findings if finding.severity == "error"]


def refusal(change: Callable[..., object], *words: object, **options: object) -> LlmdoError:
    with pytest.raises(LlmdoError) as caught:
        change(*words, **options)
    assert caught.value.exit_code == 1
    return caught.value


def test_the_sample_is_sound(root: Path) -> None:
    assert errors(root) == []


def test_a_new_entry_stands_below_the_others(root: Path) -> None:
    change = scaffold.add_entry(root, "daily", worker="writer", input='Say "hi".')
    section = '\n[entries.daily]\nworker = "writer"\ninput = "Say \\"hi\\"."\n'
    assert manifest(root) == MANIFEST.replace('calls = ["writer"]\n', f'calls = ["writer"]\n{section}')
    assert (change.written, change.removed) == (("llmdo.toml",), ())
    assert change.lines == ("`llmdo run daily` starts `writer`",)
    assert errors(root) == []


def test_a_new_rule_and_a_new_path_are_lines_of_their_tables(root: Path) -> None:
    (root / "out").mkdir()
    scaffold.add_rule(root, "proc", "blocked")
    scaffold.add_path(root, "results/", "out/")
    expected = MANIFEST.replace('"x.calc.cpu" = "allowed"\n', '"x.calc.cpu" = "allowed"\nproc = "blocked"\n')
    assert manifest(root) == expected.replace('"input/"\n', '"input/"\n"results/" = "out/"\n')


def test_a_new_toolset_gives_an_attribute_another_name(root: Path) -> None:
    scaffold.add_toolset(root, "spare", python="tools/calc.py:other_tools")
    assert '\n\n[toolsets.spare]\npython = "tools/calc.py:other_tools"\n\n[entries.main]' in manifest(root)
    assert set(project.read(root).graph.toolsets) == {"calc", "spare"}


def test_a_comment_stays_with_the_table_below_it(root: Path) -> None:
    (root / "llmdo.toml").write_text(
        '[workspace]\nname = "x"\n# of workspace\n\n# of paths\n[paths]\n"a" = "b"\n'
    )
    text = splice.insert(manifest(root), ("workspace", "workers"), ["w"])
    assert text == manifest(root).replace("# of workspace\n", '# of workspace\nworkers = ["w"]\n')
    close = "[paths]\na = 'b'\n# of entries\n[entries.x]\n"
    assert splice.insert(close, ("paths", "c"), "d") == close.replace("# of e", 'c = "d"\n# of e')


def test_adding_and_removing_a_worker_leaves_nothing_behind(root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    added = scaffold.add_worker(root, "extra", path="team/extra.worker")
    assert added.written == ("team/extra.worker", "llmdo.toml")
    assert says(root, "workspace", "workers") == ["workers/*.worker", "team/extra.worker"]
    assert errors(root) == []
    removed = scaffold.remove_worker(root, "extra")
    assert (removed.written, removed.removed) == (("llmdo.toml",), ("team/extra.worker",))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.few(3)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_byte_order_mark_are_kept(root: Path, end: str, mark: bytes, last: bool) -> None:
    text = MANIFEST if last else MANIFEST.removesuffix("\n")
    before = mark + text.replace("\n", end).encode()
    (root / "llmdo.toml").write_bytes(before)
    scaffold.add_rule(root, "fs.delete", "blocked")
    scaffold.add_entry(root, "daily", worker="main")
    after = (root / "llmdo.toml").read_bytes()
    assert after.startswith(mark + b"# The team.")
    assert after.count(b"\n") == after.count(end.encode())
    assert after.endswith(b"\n") is last
    scaffold.remove_entry(root, "daily")
    scaffold.remove_rule(root, "fs.delete")
    assert (root / "llmdo.toml").read_bytes() == before


def test_the_last_key_of_a_table_takes_its_header_along(root: Path) -> None:
    scaffold.remove_path(root, "notes/")
    assert manifest(root) == MANIFEST.replace('\n[paths]\n"notes/" = "input/"\n', "")


def test_the_manifest_keeps_its_mode_and_a_link_is_refused(root: Path) -> None:
    (root / "llmdo.toml").chmod(0o600)
    scaffold.add_rule(root, "proc", "blocked")
    assert (root / "llmdo.toml").stat().st_mode & 0o777 == 0o600
    (root / "llmdo.toml").rename(root / "real.toml")
    (root / "llmdo.toml").symlink_to("real.toml")
    before = (root / "real.toml").read_bytes()
    assert "is a link" in refusal(scaffold.add_rule, root, "net", "blocked").message
    assert (root / "real.toml").read_bytes() == before


def test_nothing_but_the_written_files_is_left(root: Path) -> None:
    before = set(root.iterdir())
    scaffold.add_rule(root, "proc", "blocked")
    assert set(root.iterdir()) == before


def test_a_worker_file_is_written_where_a_glob_finds_it(root: Path) -> None:
    change = scaffold.add_worker(
        root, "editor", toolsets=["writer", "filesystem"], description='Edits "texts": all.', entry=True
    )
    assert change.written == ("workers/editor.worker",)
    assert manifest(root) == MANIFEST
    assert (root / "workers/editor.worker").read_text() == (
        "---\n"
        "name: editor\n"
        'description: "Edits \\"texts\\": all."\n'
        "entry: true\n"
        "toolsets:\n"
        "  writer: {}\n"
        "  filesystem: {}\n"
        "---\n"
        "You are editor.\n\n"
        "Say here what you are given, what to do with it, and what to answer.\n"
    )
    assert errors(root) == []


def test_a_worker_file_names_the_schema_that_init_wrote(tmp_path: Path) -> None:
    scaffold.init(tmp_path, "minimal", force=False)
    scaffold.add_worker(tmp_path, "deep", path="a/b/deep.worker.md")
    line = (tmp_path / "a/b/deep.worker.md").read_text().splitlines()[1]
    schema = line.removeprefix("# yaml-language-server: $schema=")
    assert (tmp_path / "a/b" / schema).resolve() == tmp_path / "schemas/llmdo-worker.json"


def test_a_manifest_without_globs_gets_the_path(root: Path) -> None:
    (root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "x"\n')
    scaffold.add_worker(root, "null")
    assert manifest(root) == 'schema = 1\n[workspace]\nname = "x"\nworkers = ["workers/null.worker"]\n'
    assert list(project.read(root).graph.workers) == ["null"]


def test_a_path_that_git_ignores_is_listed_by_itself(root: Path) -> None:
    (root / ".gitignore").write_text("private*\n")
    scaffold.add_worker(root, "private")
    assert says(root, "workspace", "workers")[1:] == ["workers/private.worker"]
    assert "private" in project.read(root).graph.workers


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("filesystem", "is a built-in toolset"),
        ("writer", "is a worker already: workers/writer.worker:2:7"),
        ("calc", "is a toolset already: llmdo.toml:14:11"),
        ("other_tools", "is a toolset already: tools/calc.py:4:1"),
        ("two words", "is not a name"),
        ("../up", "is not a name"),
        ("x: y", "is not a name"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(root: Path, name: str, words: str) -> None:
    assert words in refusal(scaffold.add_worker, root, name).message
    assert len(list((root / "workers").iterdir())) == 3


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("workers/main.worker", "exists already"),
        ("../x.worker", "is not a path inside the workspace"),
        ("/x.worker", "is not a path inside the workspace"),
        ("x.md", "does not end in"),
        ("[x].worker", "globs"),
        ("linked/x.worker", "link"),
        ("llmdo.toml/x.worker", "is reached through `llmdo.toml`, which is a file"),
    ],
)
def test_a_path_where_no_worker_can_be_is_refused(root: Path, path: str, words: str) -> None:
    (root / "linked").symlink_to(root / "workers")
    assert re.search(words, refusal(scaffold.add_worker, root, "new", path=path).message)
    assert manifest(root) == MANIFEST


def test_a_toolset_that_does_not_exist_is_refused(root: Path) -> None:
    error = refusal(scaffold.add_worker, root, "new", toolsets=["filesytem"])
    assert error.message == "`filesytem` is neither a toolset nor a worker"
    assert error.hint == "did you mean `filesystem`?"
    assert not (root / "workers/new.worker").exists()


def test_a_worker_that_is_named_is_kept_and_every_place_is_reported(root: Path) -> None:
    error = refusal(scaffold.remove_worker, root, "writer")
    assert error.message == "`writer` is still named at llmdo.toml:22:10, workers/main.worker:4:3"
    assert (root / "workers/writer.worker").is_file()


def test_a_toolset_that_is_named_is_kept_and_every_place_is_reported(root: Path) -> None:
    error = refusal(scaffold.remove_toolset, root, "calc")
    places = "llmdo.toml:12:1, workers/main.worker:5:3, workers/main.worker:6:7"
    assert error.message == f"`calc` is still named at {places}"
    assert manifest(root) == MANIFEST


def test_a_toolset_that_nothing_names_goes(root: Path) -> None:
    scaffold.add_toolset(root, "spare", python="tools/calc.py:other_tools")
    assert scaffold.remove_toolset(root, "spare").written == ("llmdo.toml",)
    assert manifest(root) == MANIFEST


def test_a_toolset_of_a_module_is_removed_there(root: Path) -> None:
    error = refusal(scaffold.remove_toolset, root, "other_tools")
    assert error.message == "`other_tools` is not in `[toolsets]`: tools/calc.py:4:1 makes it a toolset"


def test_a_new_name_for_a_toolset_that_workers_use_is_refused(root: Path) -> None:
    (root / "workers/user.worker").write_text("---\nname: user\ntoolsets: [other_tools]\n---\nUse.\n")
    error = refusal(scaffold.add_toolset, root, "spare", python="tools/calc.py:other_tools")
    assert error.message == "`other_tools` is still named at workers/user.worker:3:12"


@pytest.mark.parametrize("python", ["tools/calc.py:other_tools", "tools.calc:other_tools"])
def test_a_toolset_that_workers_name_by_its_path_may_have_a_new_name(root: Path, python: str) -> None:
    (root / "workers/user.worker").write_text(
        "---\nname: user\ntoolsets: [tools.calc.other_tools]\n---\nUse.\n"
    )
    scaffold.add_toolset(root, "spare", python=python)
    assert [use.name for use in project.read(root).graph.workers["user"].uses] == ["spare"]


def test_an_entry_that_an_acceptance_names_is_kept(root: Path) -> None:
    assert "llmdo.toml:27:1" in refusal(scaffold.remove_entry, root, "nightly").message
    assert manifest(root) == MANIFEST


def test_an_entry_of_a_worker_file_is_removed_there(root: Path) -> None:
    error = refusal(scaffold.remove_entry, root, "lonely")
    assert error.message == "`lonely` is not in `[entries]`: workers/lonely.worker:2:7 sets `entry: true`"


def test_while_a_worker_file_has_errors_nothing_that_it_may_name_goes(root: Path) -> None:
    (root / "workers/broken.worker").write_text("---\nname: broken\ntoolsets: [writer\n---\n")
    scaffold.remove_path(root, "notes/")
    error = refusal(scaffold.remove_worker, root, "lonely")
    assert error.message == "`workers/broken.worker` has errors, so what it names is not known"


def test_two_files_of_one_name_are_not_chosen_from(root: Path) -> None:
    (root / "workers/other.worker").write_text("---\nname: lonely\n---\nSit.\n")
    error = refusal(scaffold.remove_worker, root, "lonely")
    assert "`workers/lonely.worker`, `workers/other.worker`" in error.message


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (scaffold.remove_worker, ["writr"], "`writr` is not a worker"),
        (scaffold.remove_toolset, ["calk"], "`calk` is not in `[toolsets]`"),
        (scaffold.remove_entry, ["mian"], "`mian` is not in `[entries]`"),
        (scaffold.remove_path, ["note/"], "`note/` is not in `[paths]`"),
        (scaffold.remove_rule, ["x.calc.cpus"], "`x.calc.cpus` is not in `[approvals.rules]`"),
        (scaffold.add_rule, ["proc.exce", "blocked"], "`proc.exce` is not a capability"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(
    root: Path, change: Callable[..., object], words: list[str], message: str
) -> None:
    error = refusal(change, root, *words)
    assert error.message == message
    assert str(error.hint).startswith("did you mean `")
    assert manifest(root) == MANIFEST


@pytest.mark.few(7)
@pytest.mark.parametrize(
    ("change", "words", "options", "message"),
    [
        (
            scaffold.add_entry,
            ["main"],
            {"worker": "main"},
            "`main` is in `[entries]` already: llmdo.toml:17:10",
        ),
        (scaffold.add_entry, ["new"], {"worker": "calc"}, "`calc` is not a worker"),
        (scaffold.add_entry, ["a b"], {"worker": "main"}, "`a b` is not a name"),
        (scaffold.add_path, ["notes/", "input/"], {}, "`notes/` is in `[paths]` already: llmdo.toml:25:1"),
        (scaffold.add_path, ["a", "missing.txt"], {}, "`missing.txt` does not exist"),
        (scaffold.add_path, ["a", "../a"], {}, "`../a` is not a path inside the workspace"),
        (scaffold.add_path, ["a", "input/"], {}, "are not both files or both folders"),
        (scaffold.add_path, ["a", "input"], {}, "are not both files or both folders"),
        (scaffold.add_path, ["../a", "input/a.txt"], {}, "`../a` leaves the workspace"),
        (scaffold.add_rule, ["x.calc.cpu", "blocked"], {}, "already: llmdo.toml:12:1"),
        (scaffold.add_rule, ["fs.write:/etc/**", "blocked"], {}, "`fs.write:/etc/**` leaves the workspace"),
        (scaffold.add_rule, ["fs.write", "alowed"], {}, "alowed"),
        (scaffold.add_toolset, ["new"], {"python": "tools/none.py:x"}, "`tools/none.py` does not exist"),
        (scaffold.add_toolset, ["new"], {"python": "tools/calc.py:x"}, "`x` is not in `tools/calc.py`"),
        (scaffold.add_toolset, ["new"], {"python": "nonsense"}, "`nonsense` is not of the form"),
        (scaffold.add_toolset, ["main"], {"python": "tools/calc.py:other_tools"}, "is a worker already"),
    ],
)
def test_what_would_break_the_workspace_is_refused(
    root: Path, change: Callable[..., object], words: list[str], options: dict[str, str], message: str
) -> None:
    assert message in refusal(change, root, *words, **options).message
    assert manifest(root) == MANIFEST


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[broken", "`"), (b"\xff = 1", "not UTF-8"), (b"schema = 1\npaths = 3", "`paths` is not a table")],
)
def test_a_manifest_that_cannot_be_read_is_left_alone(root: Path, content: bytes, words: str) -> None:
    (root / "llmdo.toml").write_bytes(content)
    assert words in refusal(scaffold.add_path, root, "a", "input/a.txt").message
    assert (root / "llmdo.toml").read_bytes() == content


def test_without_a_manifest_nothing_is_edited(tmp_path: Path) -> None:
    error = refusal(scaffold.remove_rule, tmp_path, "proc")
    assert error.message == "`llmdo.toml` does not exist"


def test_an_error_that_was_there_before_does_not_hinder(root: Path) -> None:
    (root / "llmdo.toml").write_text(MANIFEST + "\n[misspelt]\nx = 1\n")
    scaffold.add_rule(root, "proc", "blocked")
    assert says(root, "approvals", "rules", "proc") == "blocked"


NOISE = st.lists(
    st.sampled_from(["", "", "   ", "# a comment", "\t# [entries.fake]", "# zz = 1", "#"]), max_size=3
)
SPACE = st.sampled_from(["", " ", "  ", "\t"])
TAIL = st.sampled_from(["", "", "  ", " # why", "\t#[x]"])
TEXT = '"""\n[entries.fake]\n# no comment\nx = 1\n"""'
ARRAYS = st.sampled_from(
    [
        '["a/*.worker"]',
        "[]",
        "[ ]",
        "[\n]",
        '[ "a", "b" ]',
        '["a", "b",]',
        '["a",\n "b"]',
        '[ "a" , # x\n  "b" ]',
        '[\n  "a"\n, "b"\n,]',
        '[\n  "a",  # one\n  "b"  # two\n]',
        '[\n    "a",\n    # last\n    "b",\n]',
    ]
)
INLINE = {
    "paths": ['paths = { "a" = "b" }', "paths={'a b'='b',c='d' }", "paths = {}"],
    "rules": [
        'approvals = { default = "blocked", rules = {"net" = "blocked" } }',
        'approvals = { rules."net" = "blocked" }',
        "approvals = {}",
    ],
    "entries": [
        'entries = { main = { worker = "main" } }',
        'entries = { main.worker = "main", main.input = "x" }',
    ],
    "toolsets": ["toolsets = { calc = {} }"],
}
DOTTED = {
    "paths": ['paths."a b" = "c"', 'paths.x = "y"'],
    "rules": ['approvals.rules."fs.read" = "blocked"', 'approvals . default = "blocked"'],
    "entries": ['entries.main.worker = "main"', f'entries."main".input = {TEXT}'],
    "toolsets": ['toolsets.calc.python = "a"'],
}
RULES = [
    ["[approvals]", 'default = "blocked"'],
    ["[approvals]", 'rules."net" = "blocked"', 'default = "blocked"'],
    ["[approvals.rules]", '  "net" = "blocked"'],
    ["[approvals]", 'rules = { net = "blocked" } # x'],
]
ENTRIES = [
    ["[entries]", "# none yet"],
    ["[entries]", 'other = { worker = "main" }'],
    ["[entries.main.limits]", "requests = 1"],
    ["[entries.b]"],
]


@st.composite
def pairs(draw: st.DrawFn, key: str, value: str) -> list[str]:
    return f"{draw(SPACE)}{key}{draw(SPACE)}={draw(SPACE)}{value}{draw(TAIL)}".split("\n")


@st.composite
def manifests(draw: st.DrawFn) -> str:
    lines = draw(NOISE) + draw(pairs("schema", "1"))
    forms = {name: draw(st.sampled_from(["none", "inline", "dotted", "section"])) for name in INLINE}
    for name, form in forms.items():
        if form == "inline":
            lines += [*draw(NOISE), draw(st.sampled_from(INLINE[name])) + draw(TAIL)]
        elif form == "dotted":
            lines += [line for text in DOTTED[name] for line in [*draw(NOISE), *text.split("\n")]]
    workers = draw(pairs("workers", draw(ARRAYS)))
    sections = [
        ["[workspace]", *draw(pairs("name", '"x"')), *draw(NOISE), *workers],
        ["[[check.accept]]", *draw(pairs("reason", TEXT))],
    ]
    if forms["paths"] == "section":
        header = f"{draw(SPACE)}[ paths ]{draw(TAIL)}"
        sections.append([header, *draw(NOISE), *draw(pairs('"a b"', '"c"')), *draw(pairs("'d'", '"c"'))])
    if forms["rules"] == "section":
        sections.append(draw(st.sampled_from(RULES)))
    if forms["entries"] == "section":
        header = draw(st.sampled_from(["[entries.main]", "[ entries . main ]"]))
        sections += [[header, *draw(NOISE), *draw(pairs("input", TEXT))], draw(st.sampled_from(ENTRIES))]
    if forms["toolsets"] == "section":
        sections.append(["[toolsets.calc]", *draw(NOISE), *draw(pairs("python", '"a"'))])
    for section in draw(st.permutations(sections)):
        lines += section + draw(NOISE)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from(["", end, end * 3]))


ADDITIONS = st.sampled_from(
    [
        (("entries", "zz"), {"worker": "main", "input": 'a "b"\nc'}),
        (("toolsets", "zz"), {"python": "t.py:x"}),
        (("paths", "zz/"), "y/"),
        (("approvals", "rules", "fs.write:zz/**"), "allowed"),
    ]
)


def are_left_in_order(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


def without_empty_tables(table: dict[str, Any]) -> dict[str, Any]:
    """What is said at all: whether a table that says nothing is written is not told apart."""
    parts = {
        key: without_empty_tables(value) if isinstance(value, dict) else value for key, value in table.items()
    }
    return {key: value for key, value in parts.items() if value != {}}


@tried(100)
@given(manifests(), ADDITIONS)
def test_adding_only_adds_and_removing_it_again_restores_every_byte(text: str, addition: Any) -> None:
    route, value = addition
    expected = tomllib.loads(text)
    table = expected
    for name in route[:-1]:
        table = table.setdefault(name, {})
    table[route[-1]] = value
    added = splice.insert(text, route, value)
    assert tomllib.loads(added) == expected
    assert are_left_in_order(text, added)
    assert added.count("\r\n") == (added.count("\n") if "\r\n" in text else 0)
    assert splice.delete(added, route) == text


@tried(60)
@given(manifests())
def test_an_item_is_appended_and_withdrawn_without_a_trace(text: str) -> None:
    route = ("workspace", "workers")
    expected = tomllib.loads(text)
    expected["workspace"]["workers"].append("zz.worker")
    added = splice.append(text, route, "zz.worker")
    assert tomllib.loads(added) == expected
    assert are_left_in_order(text, added)
    assert splice.withdraw(added, route, len(expected["workspace"]["workers"]) - 1) == text


@tried(100)
@given(manifests(), st.data())
def test_whatever_is_removed_nothing_else_changes(text: str, data: st.DataObject) -> None:
    expected = tomllib.loads(text)
    tables = [("entries",), ("toolsets",), ("paths",), ("approvals", "rules")]
    routes: list[tuple[Any, ...]] = []
    for table_route in tables:
        table = expected
        for name in table_route:
            table = table.get(name, {})
        routes += [(*table_route, name) for name in table]
    routes += [("workspace", "workers", number) for number in range(len(expected["workspace"]["workers"]))]
    if not routes:
        return
    *parent, last = data.draw(st.sampled_from(routes))
    holder: Any = expected
    for name in parent:
        holder = holder[name]
    del holder[last]
    if isinstance(last, int):
        shorter = splice.withdraw(text, tuple(parent), last)
    else:
        shorter = splice.delete(text, (*parent, last))
    assert without_empty_tables(tomllib.loads(shorter)) == without_empty_tables(expected)
    assert are_left_in_order(shorter, text)
