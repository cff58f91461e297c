"""The shape of the package: who may import whom, what stays off the check path, how large things get."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest
import typer

from llmdo.base import topology
from llmdo.cli.app import command_line
from llmdo.extensions.registry import features, folders
from llmdo.extensions.spec import Extension
from tests.support.waiting import aged

PACKAGE = Path(__file__).parents[2] / "llmdo"
FILES = sorted(PACKAGE.rglob("*.py"))
TESTS_ROOT = Path(__file__).parent.parent
BESIDE = sorted(path for name in ("bench", "examples") for path in (PACKAGE.parent / name).rglob("*.py"))
"""What people read beside the package."""
TESTS = sorted(path for path in TESTS_ROOT.rglob("*.py") if "cases" not in path.parts)
"""The tests, but not the code in the workspaces they read, which may be anything."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path) for path in FILES}

PACKAGES = (
    "base",
    "extensions",
    "syntax",
    "policy",
    "graph",
    "formats",
    "reach",
    "foreign",
    "workspace",
    "diff",
    "toolsets",
    "checks",
    "journal",
    "runtime",
    "scaffold",
    "services",
    "render",
    "cli",
    "features",
)
"""A package imports from those above it, and from itself."""

FOLDERS = {import_module(f"llmdo.features.{name}").EXTENSION.name: name for name in folders()}
"""The name of each feature, to that of its folder."""

GROUND_FLOOR = {"__init__", "__main__", "version"}

COMMANDS_OF = {
    path.relative_to(PACKAGE / "features").as_posix() for path in PACKAGE.glob("features/*/*cli.py")
}

DOORS = {
    "croniter": {"features/fleet"},
    "dbos": {"features/fleet"},
    "psycopg": {"features/postgres"},
    "pydantic_evals": {"features/evaluation"},
    "pygls": {"features/editor"},
    "starlette": {"features/page"},
    "watchfiles": {"services/changes.py", "features/editor"},
    "sqlite3": {"journal/sqlite"},
    "yaml": {"syntax/header.py", "features/opencode/text_keys.py"},
    "jsonschema": {"formats/schema/validation.py"},
    "typer": {"cli", "features/batch/fleets.py", *(f"features/{name}" for name in COMMANDS_OF)},
    "rich": {"features/batch/terminal.py", "render/live.py"},
    "opentelemetry": {"runtime/telemetry/trace.py"},
    "pathspec": {"syntax/discovery.py"},
    "pydantic_ai": {"runtime", "toolsets"},
    "fastmcp": {"toolsets/mcp.py"},
    "prompt_toolkit": {"features/chat"},
    "mcp": {"features/mcp_server"},
    "uvicorn": {"features/page", "features/mcp_server"},
}
"""Where each library may be imported."""

EMPTY_NAMES = {"one", "said", "told", "found"}
"""What could be called so could be called anything."""


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


FILES_OF = {part: [*files] for part, files in groupby(sorted(FILES, key=part_of), key=part_of)}
each_package = pytest.mark.parametrize("files", FILES_OF.values(), ids=FILES_OF)


@cache
def parsed(path: Path) -> ast.Module:
    """A file as a tree; none of them changes while they are tested."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the tree of a file."""
    return (*ast.walk(parsed(path)),)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def imports(path: Path, *, types: bool = False) -> frozenset[str]:
    """The dotted modules that a file imports when it runs; with `types`, also what only a type checker sees."""
    left_out = (
        set() if types else {part for node in nodes(path) if is_for_types(node) for part in ast.walk(node)}
    )
    modules: set[str] = set()
    for node in nodes(path):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                within = f"{node.module}.{alias.name}"
                modules.add(within if within in MODULES else node.module)
    return frozenset(modules)


def test_the_ground_floor_holds_packages_alone() -> None:
    assert {part_of(path) for path in FILES} == {*PACKAGES, *GROUND_FLOOR}
    assert {path.stem for path in PACKAGE.glob("*.py")} == GROUND_FLOOR


@each_package
def test_a_module_imports_only_from_packages_above_its_own(files: list[Path]) -> None:
    own = part_of(files[0])
    above = {*PACKAGES} if own in GROUND_FLOOR else {*PACKAGES[: PACKAGES.index(own) + 1]}
    wrong = [
        f"{shown(path)} imports {module}"
        for path in files
        for module in imports(path, types=True)
        if module.startswith("llmdo.") and module.split(".")[1] not in above | GROUND_FLOOR
    ]
    assert not wrong


def calls_of(path: Path, name: str) -> list[int]:
    """The lines in which a file calls something by that name."""
    return [
        node.lineno
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_authority_is_composed_in_one_place() -> None:
    composing = {module_of(path) for path in FILES if calls_of(path, "Authority")}
    assert composing == {"llmdo.policy.composition"}


def test_the_journal_alone_names_the_store_behind_its_ports() -> None:
    store = {
        module_of(path)
        for path in FILES
        if any(module.startswith("llmdo.journal.sqlite") for module in imports(path, types=True))
    }
    assert {name for name in store if not name.startswith("llmdo.journal.sqlite")} == {"llmdo.journal"}
    other = {
        module_of(path)
        for path in FILES
        if any(module.startswith("llmdo.features.postgres") for module in imports(path, types=True))
    }
    assert not {name for name in other if not name.startswith("llmdo.features.postgres")}


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.name)
def test_a_feature_imports_of_others_what_it_needs(feature: Extension) -> None:
    folder = PACKAGE / "features" / FOLDERS[feature.name]
    views = {
        PACKAGE.parent / f"{view.replace('.', '/')}.py" for view in feature.views
    }  # which the page loads
    allowed = {FOLDERS[name] for name in (feature.name, *feature.needs)}
    wrong = [
        f"{shown(path)} imports {module}"
        for path in folder.rglob("*.py")
        for module in imports(path, types=True)
        if module.startswith("llmdo.features.")
        and module.split(".")[2] not in (allowed | {"page"} if path in views else allowed)
    ]
    assert not wrong


MUTABLE = {
    *("list", "dict", "set", "bytearray", "deque", "defaultdict", "Counter", "OrderedDict"),
    *("MutableMapping", "MutableSequence", "MutableSet", "List", "Dict", "DefaultDict"),
}


SERVERS = "mcp"
"""A format called as the protocol is, of which the rest of llmdo has servers of its own."""
PROGRAMS = "commands.py"
"""The module that lists programs by their names in a shell, some of which are called as formats are."""


def test_nothing_asks_whether_a_format_is_that_of_a_certain_feature() -> None:
    names = {name for feature in features() for name in feature.formats} - {SERVERS}
    asked = [
        f"{shown(path)}:{node.lineno} {word.value}"
        for path in sorted((PACKAGE / "foreign").glob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.Compare | ast.Dict | ast.Set)
        for word in ast.walk(node)
        if isinstance(word, ast.Constant) and word.value in names and path.name != PROGRAMS
    ]
    assert asked == []


def is_frozen(definition: ast.ClassDef) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func).rpartition(".")[2] == "dataclass"
        and any(
            keyword.arg == "frozen" and ast.unparse(keyword.value) == "True" for keyword in decorator.keywords
        )
        for decorator in definition.decorator_list
    )


def names_of_types(annotation: ast.AST) -> Iterator[str]:
    """The types that an annotation names, quoted ones too; not those that a callable takes and returns."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="Callable" | "ClassVar" | "Literal")):
            return
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[annotated, *_])):
            yield from names_of_types(annotated)
            return
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str(quoted)):
            with suppress(SyntaxError):  # then it is text, and names no type
                yield from names_of_types(ast.parse(quoted, mode="eval").body)
    for child in ast.iter_child_nodes(annotation):
        yield from names_of_types(child)


def mutable_aliases(tree: ast.Module) -> set[str]:
    """The names that a module gives to types of which something can be changed."""
    return {
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Subscript | ast.BinOp)
        and MUTABLE.intersection(names_of_types(node.value))
    }


def mutable_fields(tree: ast.Module, aliases: set[str]) -> list[str]:
    """The fields of frozen dataclasses whose values can be changed."""
    return [
        f"{definition.name}.{ast.unparse(line.target)}"
        for definition in ast.walk(tree)
        if isinstance(definition, ast.ClassDef) and is_frozen(definition)
        for line in definition.body
        if isinstance(line, ast.AnnAssign)
        and (MUTABLE | aliases).intersection(names_of_types(line.annotation))
    ]


def test_what_is_frozen_is_frozen_all_the_way_down() -> None:
    aliases = {alias for path in FILES for alias in mutable_aliases(parsed(path))}
    fields = {module_of(path): mutable_fields(parsed(path), aliases) for path in FILES}
    assert {module: names for module, names in fields.items() if names} == {}


def test_a_mutable_field_is_seen_wherever_its_type_stands() -> None:
    seen = """
Table = dict[str, int]

@dataclass(frozen=True, slots=True)
class Value:
    plain: list[str]
    nested: tuple[tuple[str, set[int]], ...] | None
    quoted: "Mapping[str, 'dict[str, int]']" = field(default_factory=dict)
    aliased: Table | None = None
    function: Callable[[list[str]], dict[str, int]] = len
    shared: ClassVar[list[str]] = []
    frozen: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)

@dataclass(slots=True)
class Reader:
    problems: list[str]
"""
    tree = ast.parse(seen)
    names = ["Value.plain", "Value.nested", "Value.quoted", "Value.aliased"]
    assert mutable_fields(tree, mutable_aliases(tree)) == names


def test_no_modules_import_each_other_in_a_circle() -> None:
    edges = {
        module_of(path): sorted((imports(path, types=True) & MODULES) - {module_of(path), "llmdo"})
        for path in FILES
    }
    assert topology.strongly_connected_components(edges) == []


@each_package
def test_each_library_has_its_doors(files: list[Path]) -> None:
    wrong = [
        f"{shown(path)} imports {module}"
        for path in files
        for module in imports(path)
        if (allowed := DOORS.get(module.split(".")[0])) is not None
        and not any(shown(path) == door or shown(path).startswith(f"{door}/") for door in allowed)
    ]
    assert not wrong


@cache
def code_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file that are code: no blank ones, no comments, no docstrings."""
    prose = set()
    for node in nodes(path):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return tuple(
        line
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in prose
    )


@each_package
def test_no_file_and_no_function_outgrows_a_reader(files: list[Path]) -> None:
    # The formats are one list of fields; splitting it would only hide it. `tables` is written by a program.
    lengths = {shown(path): len(code_lines(path)) for path in files}
    assert not {name: length for name, length in lengths.items() if length > 360 and name != "cli/tables.py"}
    assert not [
        f"{shown(path)}: {node.name}"
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= 50
    ]


def test_types_are_stated() -> None:
    """`Any` stands where a library asks for it or where values of many types share a table; elsewhere types do."""
    lines = [line for path in FILES for line in code_lines(path)]
    unknown = sum(len(re.findall(r"\bAny\b", line)) for line in lines)
    assert 1_000 * unknown / len(lines) <= 5.5


def empty_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and name of what is given a name that says nothing: of variables, fields, parameters, definitions."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                pass
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.ExceptHandler(name=name):
                pass
            case ast.alias(asname=name):
                pass
            case _:
                continue
        if name in EMPTY_NAMES:
            yield node.lineno, name


@pytest.mark.parametrize(
    "files",
    [*FILES_OF.values(), BESIDE, pytest.param(TESTS, marks=pytest.mark.long)],
    ids=[*FILES_OF, "beside", "tests"],
)
def test_a_name_says_what_it_holds(files: list[Path]) -> None:
    places = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: `{name}` does not say what it holds"
        for path in files
        for line, name in empty_names(nodes(path))
    ]
    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    "code",
    [
        "one = 1",
        "one: int",
        "for one in (): pass",
        "all(one for one in ())",
        "print(one := 1)",
        "print(f'{[one for one in ()]}')",
        "self.one = 1",
        "class A:\n    one: int = 1",
        "def f(one): pass",
        "def f(*, one=1): pass",
        "lambda *one: 1",
        "def one(): pass",
        "async def one(): pass",
        "import a as one",
        "match 1:\n    case one: pass",
        "match 1:\n    case [*one]: pass",
        "try: pass\nexcept A as one: pass",
        "with a as (b, one): pass",
    ],
)
def test_an_empty_name_is_seen_however_it_is_given(code: str) -> None:
    assert [name for _, name in empty_names(ast.walk(ast.parse(code)))] == ["one"]


def test_reading_a_name_and_a_key_of_json_give_none() -> None:
    assert list(empty_names(ast.walk(ast.parse("print(a.told, {'told': 1}, found)")))) == []


RIDDLES = {
    "Around",
    "Desk",
    "beside",
    "carry_out",
    "deeds",
    "doubt",
    "going_on",
    "nobodys",
    "over_time",
    "retold",
    "several",
}
"""Names of modules, classes and functions that told nobody where they were."""
MOST_RIDDLES = 6
"""Of "what" and "where", in 1,000 words of docstrings."""


@each_package
def test_no_module_class_or_function_is_a_riddle(files: list[Path]) -> None:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = {(path, node.name) for path in files for node in nodes(path) if isinstance(node, kinds)}
    names |= {(path, path.stem) for path in files}
    options = PACKAGE / "cli/options.py"  # as its flags are called
    assert not [f"{shown(path)}: {name}" for path, name in names if name in RIDDLES and path != options]


def test_docstrings_begin_with_the_thing() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose = [
        ast.get_docstring(node) or "" for path in FILES for node in nodes(path) if isinstance(node, kinds)
    ]
    words = re.findall(r"[a-z']+", " ".join(prose).lower())
    riddles = sum(word in ("what", "where") for word in words)
    assert 1000 * riddles / len(words) <= MOST_RIDDLES


@pytest.mark.long
def test_a_class_name_is_used_once() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def commands(app: typer.Typer) -> Iterator[Callable[..., object]]:
    """The functions behind the commands of `app` and of the groups below it."""
    callbacks = [command.callback for command in app.registered_commands]
    groups = [group.typer_instance for group in app.registered_groups]
    callbacks += [app.registered_callback.callback] if app.registered_callback else []
    yield from filter(None, callbacks)
    for group in groups:
        yield from commands(group) if group else ()


@pytest.mark.parametrize("command", list(commands(command_line())), ids=lambda command: command.__name__)
def test_the_body_of_a_command_is_short(command: Callable[..., object]) -> None:
    source = textwrap.dedent(inspect.getsource(command))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef) or command.__name__ == "<lambda>"
    if isinstance(function, ast.FunctionDef):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        lines = source.splitlines()[body[0].lineno - 1 :]
        code = [line for line in lines if line.strip() and not line.strip().startswith("#")]
        assert len(code) <= 15


@pytest.mark.parametrize(
    "path",
    sorted([*(PACKAGE / "cli" / "commands").glob("*.py"), *PACKAGE.glob("features/*/*cli.py")]),
    ids=lambda path: f"{path.parent.stem}-{path.stem}",
)
def test_a_command_leaves_the_work_to_services(path: Path) -> None:
    allowed = {"base", "checks", "cli", "journal", "render", "scaffold", "services", "runtime"}
    if path.parent.parent.stem == "features":
        allowed.add("features")
    for module in imports(path):
        names = module.split(".")
        assert names[0] != "llmdo" or len(names) == 1 or names[1] in allowed, module


def loaded_by(words: list[str], workspace: Path) -> set[str]:
    script = (
        "import sys\nfrom llmdo.__main__ import main\n"
        f"sys.argv = ['llmdo', *{words!r}]\ncode = main()\n"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=workspace, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split("\n"))


HEAVY = {
    "asyncio", "dataclasses", "inspect", "jsonschema", "pydantic", "pydantic_ai", "rich", "subprocess",
    "typer", "yaml",
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "words",
    [["check"], ["--version"], ["--help"], ["run", "-h"], ["__complete", "run", ""], ["runs"]],
    ids=" ".join,
)
def test_the_clean_path_loads_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n', encoding="utf-8"
    )
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\n---\nGo.\n", encoding="utf-8")
    loaded = loaded_by(words, tmp_path)
    assert not loaded & HEAVY
    assert not [name for name in loaded if name.startswith("llmdo.foreign")]


@pytest.mark.long
def test_a_run_loads_nothing_that_looks_into_modules_where_none_has_changed(tmp_path: Path) -> None:
    examples = PACKAGE.parent / "examples"
    shutil.copytree(examples / "calculator", tmp_path / "w", ignore=shutil.ignore_patterns(".llmdo"))
    loaded = loaded_by(["run", "--locked"], tmp_path / "w")
    assert "llmdo.runtime.run" in loaded
    assert not loaded & {"llmdo.toolsets.isolation", "llmdo.toolsets.inspection", "fastmcp", "mcp"}
    assert not [name for name in loaded if name.startswith(("pydantic_evals", "llmdo.features.evaluation"))]


def test_an_answer_from_memory_loads_next_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMDO_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n', encoding="utf-8")
    (root / "llmdo.lock").write_text("", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "llmdo", "lock"], cwd=root, check=True, capture_output=True)
    aged(root)
    assert "hashlib" in loaded_by(["check"], root)
    assert not loaded_by(["check"], root) & {*HEAVY, "hashlib", "json", "pathlib", "re", "tomllib", "typing"}


def test_check_works_where_fcntl_and_resource_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n', encoding="utf-8")
    script = (
        "import sys\nsys.modules['fcntl'] = sys.modules['resource'] = sys.modules['termios'] = None\n"
        "from llmdo.__main__ import main\nsys.argv = ['llmdo', 'check']\nsys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_map_names_every_package_in_the_order_of_its_imports() -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert re.findall(r"^    (\w+)/", text, re.MULTILINE) == list(PACKAGES)
    assert len(text.splitlines()) <= 40


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_what_it_is(package: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(text.splitlines()) >= 3, "what it owns, what comes in, what goes out"


def test_only_who_asks_where_runs_are_kept_opens_their_folder() -> None:
    """All others go by `runs_of`, or they would see no run of a store in a database."""
    naming = {
        shown(path)
        for path in FILES
        if re.search(r"\bRuns\(", path.read_text(encoding="utf-8")) and "journal/sqlite" not in shown(path)
    }
    assert naming == {"journal/opening.py"}


@pytest.mark.long
def test_there_is_one_context_variable() -> None:
    """Concurrent runs are separate values: nothing but the code that runs now is known without being handed over."""
    homes = [shown(path) for path in FILES for node in nodes(path) if is_context_variable(node)]
    assert homes == ["toolsets/call_key.py"]


def is_context_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ContextVar")


OF_NO_PACKAGE = {"project", "project/examples", "playground", "proof", "support", "journal/earlier"}
"""Folders of tests about the repository, of proofs and the playground beside the package, of helpers, and of what makes a journal of an earlier version."""


def test_a_test_lies_under_the_name_of_what_it_tests() -> None:
    flat = {path.name for path in TESTS if path.parent == TESTS_ROOT}
    assert flat == {"__init__.py", "conftest.py"}, (
        "a test goes to the folder of its package, a helper to tests/support"
    )
    folders = {path.parent.relative_to(TESTS_ROOT).as_posix() for path in TESTS} - {".", *OF_NO_PACKAGE}
    assert [
        name
        for name in sorted(folders)
        if not (PACKAGE / name).is_dir() and not (PACKAGE / f"{name}.py").is_file()
    ] == []
    assert not list((TESTS_ROOT / "support").rglob("test_*.py"))


def sleeps(path: Path) -> list[int]:
    """The lines in which a file itself, not a program in one of its texts, lets time pass."""
    return [
        node.lineno
        for node in (nodes(path) if "sleep(" in path.read_text(encoding="utf-8") else ())
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"sleep", "time.sleep", "asyncio.sleep"}
        and [ast.unparse(argument) for argument in node.args] != ["0"]
    ]


def test_tests_wait_for_what_happens_and_not_for_a_time() -> None:
    places = [f"{path.relative_to(TESTS_ROOT)}:{line}" for path in TESTS for line in sleeps(path)]
    assert len(places) <= 10, f"wait by tests/support/waiting.py: {places}"
