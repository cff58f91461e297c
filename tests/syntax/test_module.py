"""Python modules, outlined: names, toolsets, imports, and how much the outline is sure of."""

from __future__ import annotations

import gc
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.syntax import module
from llmdo.syntax.module import Outline, ToolsetOutline

from .reading import facts_of, text_at

HEAD = "from pydantic_ai import FunctionToolset\n"


def outline(text: str) -> Outline:
    outlined = module.outline(Source("tools/calc.py", dedent(text)))
    assert outlined.problems == ()
    return outlined


def calc(text: str) -> ToolsetOutline:
    """The toolset `calc` of a module that has FunctionToolset."""
    return outline(HEAD + dedent(text)).toolsets["calc"]


def problem(text: str) -> tuple[str, int, int, str]:
    outlined = module.outline(Source("tools/calc.py", text))
    assert (outlined.names, outlined.toolsets, outlined.imports, outlined.spans) == (frozenset(), {}, (), {})
    assert outlined.open
    (only,) = facts_of(outlined.problems)
    return only


# Names


def test_every_way_to_bind_a_name_at_the_top_is_seen() -> None:
    text = """
        import a.b, c as d
        from e import f, g as h
        i = j = 1
        k: int = 1
        (l, [m, *n]) = x
        def o(): pass
        async def p(): pass
        class q: pass
        if x:
            r = 1
        else:
            s = 1
        try:
            t = 1
        except E:
            u = 1
        finally:
            v = 1
        with x as w: pass
        for y in x: pass
        while (z := x): pass
        match x:
            case [aa, *bb]: pass
            case {"k": cc, **dd}: pass
            case E() as ee: pass
        def inner():
            global ff
    """
    assert outline(text).names == {
        *"adfhijklmnopqrstuvwyz", "aa", "bb", "cc", "dd", "ee", "ff", "inner",
    }  # fmt: skip


def test_names_that_are_not_bound_at_the_top_are_left_out() -> None:
    text = """
        annotated: int
        [hidden for hidden in x]
        f = lambda parameter: (walrus := 1)
        def g(argument):
            local = 1
        class K:
            attribute = 1
        try: pass
        except E as error: pass
        o.attribute = o["item"] = 1
        if TYPE_CHECKING:
            from x import typing_only
    """
    assert outline(text).names == {"f", "g", "K"}


@pytest.mark.parametrize(
    "text",
    [
        "from x import *", "def __getattr__(name): ...", "from x import __getattr__", "globals()['a'] = 1",
        "def f():\n    globals()['a'] = 1", "exec('a = 1')", "setattr(m, 'a', 1)", "vars()['a'] = 1",
        "import sys\nsys.modules[__name__] = 1", "if x:\n    exec('')",
    ],
)  # fmt: skip
def test_a_module_that_may_have_other_names_is_open(text: str) -> None:
    assert outline(text).open


@pytest.mark.parametrize(
    "text", ["", "a = 1", "def f(o):\n    setattr(o, 'a', 1)", "vars(o)", "def f():\n    exec('a = 1')"]
)
def test_an_ordinary_module_is_not_open(text: str) -> None:
    assert not outline(text).open


def test_a_name_stands_where_it_is_bound_first() -> None:
    text = 'é = "é"; ñü = 1\n@deco("é")\nasync  def  f(): ...\nclass Kü: ...\nñü = 2\nimport a as 𐌀y\n'
    spans = module.outline(Source("m.py", text)).spans
    at = {name: (span.line, span.column, text_at(text, span)) for name, span in spans.items()}
    assert at == {
        "é": (1, 1, "é"),
        "ñü": (1, 10, "ñü"),
        "f": (3, 13, "f"),
        "Kü": (4, 7, "Kü"),
        "𐌀y": (6, 8, "a as 𐌀y"),
    }


# Imports


def test_imports_are_found_anywhere_and_keep_their_dots() -> None:
    text = """
        import a.b.c, d as e
        from f.g import h as i
        from . import j
        from .k import l
        from ..m import *
        def n():
            import o
        class P:
            from q import r
    """
    assert outline(text).imports == (
        ".", "..m", ".j", ".k", ".k.l", "a.b.c", "d", "f.g", "f.g.h", "o", "q", "q.r",
    )  # fmt: skip


def test_imports_for_type_checkers_alone_are_left_out() -> None:
    text = """
        import typing
        if typing.TYPE_CHECKING:
            import a
        else:
            import b
    """
    assert outline(text).imports == ("b", "typing")


# Toolsets


@pytest.mark.parametrize(
    "value",
    [
        "FunctionToolset()", "FunctionToolset[int](id='x')", "pydantic_ai.toolsets.MCPToolset('x')", "Renamed()",
        "MyTools()", "Below()", "other.prefixed('a')", "other.filtered(f).renamed({})", "FunctionToolset().prepared(f)",
        "make()", "other",
    ],
)  # fmt: skip
def test_what_makes_a_toolset_is_one(value: str) -> None:
    toolsets = outline(
        f"""
        from pydantic_ai import FunctionToolset
        from pydantic_ai.toolsets import WrapperToolset as Renamed
        class MyTools(FunctionToolset): ...
        class Below(MyTools): ...
        def make() -> FunctionToolset[int]: ...
        other = FunctionToolset()
        calc = {value}
        annotated: FunctionToolset = unknown()
        one, two = {value}, 1
        """
    ).toolsets
    assert set(toolsets) == {"MyTools", "Below", "other", "calc", "annotated", "one"}
    assert not toolsets["calc"].is_class


@pytest.mark.parametrize(
    "value", ["1", "FunctionToolset", "Toolsets()", "other()", "x.prefixed('a')", "f(other)"]
)
def test_anything_else_is_not_a_toolset(value: str) -> None:
    assert set(outline(f"other = FunctionToolset()\ncalc = {value}\n").toolsets) == {"other"}


def test_a_class_of_toolsets_is_one_whose_tools_are_not_known() -> None:
    toolsets = outline("class Calc(toolsets.AbstractToolset[None]): ...\nclass Plain: ...\n").toolsets
    assert list(toolsets) == ["Calc"]
    assert (toolsets["Calc"].is_class, toolsets["Calc"].complete, toolsets["Calc"].tools) == (True, False, {})


def test_a_private_toolset_is_not_listed_but_known() -> None:
    outlined = outline(
        "_base = FunctionToolset()\ncalc = _base.prefixed('a')\nclass _C(FunctionToolset): ...\nd = _C()\n"
    )
    assert set(outlined.toolsets) == {"calc", "d"}


def test_the_tools_of_a_toolset_are_found_with_their_capabilities() -> None:
    text = HEAD + dedent(
        """
        calc = FunctionToolset()
        @calc.tool
        async def a(ctx): ...
        @calc.tool(name="bee", metadata={"capabilities": ["x.calc.cpu", "fs.read:in/**"], "other": 1})
        def b(ctx): ...
        @calc.tool_plain
        def c(): ...
        @calc.tool_plain(retries=2, metadata={"capabilities": []})
        def d(): ...
        @calc.tool_plain(metadata={"capabilities": CAPABILITIES})
        def e(): ...
        @calc.tool_plain(metadata=METADATA)
        def f(): ...
        @calc.tool_plain(metadata={"capabilities": ["x"], **MORE})
        def g(): ...
        def h(): ...
        calc.add_function(h, name="aitch", metadata={"capabilities": ("x.calc.h",)})
        """
    )
    toolset = module.outline(Source("m.py", text)).toolsets["calc"]
    assert toolset.complete
    assert {name: tool.capabilities for name, tool in toolset.tools.items()} == {
        "a": None,
        "bee": ("x.calc.cpu", "fs.read:in/**"),
        "c": None,
        "d": (),
        "e": None,
        "f": None,
        "g": None,
        "aitch": ("x.calc.h",),
    }
    assert [text_at(text, tool.span) for tool in toolset.tools.values()] == [*"abcdefgh"]
    assert text_at(text, toolset.span) == "calc"


@pytest.mark.parametrize(
    "arguments", ["[f, g]", "tools=[f, g]", "tools=(f, Tool(g))", "[f, Tool(function, name='g')]"]
)
def test_functions_given_to_the_toolset_are_its_tools(arguments: str) -> None:
    toolset = calc(f"def f(): ...\ndef g(): ...\ndef function(): ...\ncalc = FunctionToolset({arguments})\n")
    assert set(toolset.tools) == {"f", "g"}
    assert toolset.complete


def test_capabilities_of_the_toolset_hold_for_tools_that_name_none() -> None:
    toolset = calc(
        """
        def f(): ...
        calc = FunctionToolset([f], metadata={"capabilities": ["x.all"]})
        @calc.tool_plain(metadata={"capabilities": ["x.own"]})
        def g(): ...
        @calc.tool_plain(metadata={"other": 1})
        def h(): ...
        """
    )
    assert [tool.capabilities for tool in toolset.tools.values()] == [("x.all",), ("x.own",), ("x.all",)]


@pytest.mark.parametrize(
    "text",
    [
        "calc = FunctionToolset(make_tools())", "calc = FunctionToolset(*tools)", "calc = FunctionToolset(**options)",
        "calc = FunctionToolset([*tools])", "calc = FunctionToolset([lambda: 1])", "calc = FunctionToolset([x.f])",
        "calc = FunctionToolset([unknown])", "from x import f\ncalc = FunctionToolset([f])",
        "@deco\ndef f(): ...\ncalc = FunctionToolset([f])", "calc = MCPToolset('x')",
        "calc = FunctionToolset().prefixed('a')", "calc = other = FunctionToolset()",
        "calc = FunctionToolset()\ncalc = FunctionToolset()",
        "calc = FunctionToolset()\ndef f():\n    global calc\n    calc = 1",
        "calc = FunctionToolset()\ncalc.add_tool(t)", "calc = FunctionToolset()\nfor f in x:\n    calc.add_function(f)",
        "calc = FunctionToolset()\nregister(calc)", "calc = FunctionToolset()\nother = calc",
        "calc = FunctionToolset()\ncalc.tools['x'] = 1", "calc = FunctionToolset()\ncalc.tools = {}",
        "calc = FunctionToolset()\ndef f():\n    calc.add_tool(t)", "calc = FunctionToolset()\ndel calc",
        "calc = FunctionToolset()\nif x:\n    @calc.tool\n    def f(): ...",
        "calc = FunctionToolset()\ndef f():\n    @calc.tool\n    def g(): ...",
        "calc = FunctionToolset()\n@calc.tool(name=NAME)\ndef f(): ...",
        "calc = FunctionToolset()\n@calc.tool(**options)\ndef f(): ...",
        "calc = FunctionToolset()\n@calc.tool\n@deco\ndef f(): ...",
        "calc = FunctionToolset()\ncalc.add_function(func=f)", "calc = FunctionToolset()\nt = calc.add_function(f)",
        "calc = FunctionToolset()\nfor x in [calc]: ...", "calc = FunctionToolset()\nexec('calc.add_function(f)')",
        "calc = FunctionToolset()\nglobals()['ca' + 'lc'].add_function(f)",
    ],
)  # fmt: skip
def test_a_toolset_that_may_have_other_tools_is_not_complete(text: str) -> None:
    assert not calc(text).complete


@pytest.mark.parametrize(
    "text",
    [
        "calc = FunctionToolset()", "calc = FunctionToolset([], id='x')", "calc: FunctionToolset = FunctionToolset()",
        "calc = FunctionToolset()\nother = calc.prefixed('a').filtered(f)",
        "calc = FunctionToolset()\n@deco\n@calc.tool\ndef f(): ...",
        "a = FunctionToolset()\ncalc = FunctionToolset()\n@a.tool\n@calc.tool\ndef f(): ...",
        "calc = FunctionToolset()\ncalc.get_capabilities = hook",
    ],
)  # fmt: skip
def test_a_toolset_that_nothing_else_touches_is_complete(text: str) -> None:
    assert calc(text).complete


@pytest.mark.parametrize(
    ("text", "hook"),
    [
        ("class calc(FunctionToolset):\n    def get_capabilities(self): ...", True),
        ("class A(FunctionToolset):\n    async def get_capabilities(self): ...\nclass calc(A): ...", True),
        ("class A(FunctionToolset):\n    def get_capabilities(self): ...\ncalc = A()", True),
        ("class A(FunctionToolset):\n    def get_capabilities(self): ...\ncalc = A().prefixed('a')", False),
        ("calc = FunctionToolset()\ncalc.get_capabilities = f", True),
        ("calc = FunctionToolset()\nother.get_capabilities = f", False),
        ("class calc(FunctionToolset): ...", False),
    ],
)
def test_a_hook_is_seen(text: str, hook: bool) -> None:
    assert calc(text).hook is hook


# Text that is not Python, or too much of it


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = (\n", (1, 5, "this is not valid Python: `(` was never closed")),
        ("é = 1\nx = 'é' +\n", (2, 10, "this is not valid Python: invalid syntax")),
        ("é\x00 = 1", (1, 2, "a null character is not allowed in a module")),
        (
            "a = 1\n# x\rimport os\n",
            (2, 4, "a carriage return in the middle of a line is not allowed in a module"),
        ),
        ("#!python\n# -*- coding: utf-7 -*-\n", (2, 15, "a module is UTF-8, not `utf-7`")),
    ],
)
def test_what_cannot_be_read_is_one_finding_at_its_place(text: str, expected: tuple[int, int, str]) -> None:
    assert problem(text) == ("LDO101", *expected)


@pytest.mark.parametrize(
    "text", ["x = " + "-" * 100_000 + "1", "x = 1" + "+1" * 100_000, "x = a" + ".b" * 100_000]
)
def test_code_that_is_nested_too_deeply_is_a_finding(text: str) -> None:
    outlined = module.outline(Source("m.py", text))
    assert [finding.code for finding in outlined.problems] == ["LDO101"]
    assert outlined.names == frozenset()


def test_python_s_warnings_stay_silent_and_the_filters_as_they_were() -> None:
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as heard:
        assert outline("x = '\\d'\ny = 1 is 1\n").names == {"x", "y"}
    assert heard == []
    assert warnings.filters == before


def test_a_declared_utf_8_is_fine() -> None:
    assert outline("# -*- coding: UTF_8 -*-\na = 1\n").names == {"a"}


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["x = [" + "1," * 19_000 + "]", "é = 1; " * 9_000, "import a\n" * 19_000])
@pytest.mark.timeout(20)
def test_a_large_module_is_outlined_in_time(text: str) -> None:
    assert len(outline(text).names) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text", ["a\n" * 500_000, "x = [" + "[]," * 300_000 + "]", "import a" + ".a" * 10_000]
)
@pytest.mark.timeout(20)
def test_a_module_whose_tree_would_take_all_memory_is_a_finding(text: str) -> None:
    outlined = module.outline(Source("m.py", text))
    assert [finding.code for finding in outlined.problems] == ["LDO101"]


def test_code_in_long_lines_and_long_texts_is_not_taken_for_too_much() -> None:
    assert outline(f"x = '{'a' * 900_000}'\nx = a{'.f()' * 60}\n").names == {"x"}


class Cyclic:
    """What only the collector of cycles frees; with code that runs then, in which another thread may go on."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(100):
            pass


@pytest.mark.long
def test_threads_outline_modules_at_the_same_time() -> None:
    source = Source("m.py", "def f(a):\n" + "    x = [a, (a, [1, [a]])]\n" * 100)
    often, interval = gc.get_threshold(), sys.getswitchinterval()

    def parsed(_number: int) -> int:
        for _ in range(20):
            [Cyclic() for _ in range(100)]
            module.outline(source)
        return 20

    try:
        gc.set_threshold(50)
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(parsed, range(4))) == [20] * 4
    finally:
        gc.set_threshold(*often)
        sys.setswitchinterval(interval)


def test_an_empty_module_is_empty() -> None:
    assert outline("") == Outline(open=False)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "calc", " ", "=", "FunctionToolset", "(", ")", "[", "]", ".tool", "@", "\n", "def f(): ...", "é", ":",
                "import ", "from ", "*", "x", ",", "if x:\n ", "class C(", "'", '"', "\\", ".prefixed", "1", "\t", "#",
            ]
        ),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_any_text_gives_an_outline_or_one_finding_within_the_text(text: str) -> None:
    outlined = module.outline(Source("m.py", text))
    for finding in outlined.problems:
        text_at(text, finding.at.span)
    for span in outlined.spans.values():
        assert text_at(text, span)
    assert set(outlined.toolsets) <= outlined.names
    assert (not outlined.problems) or (outlined.open and not outlined.names)


def test_the_arguments_of_tools_that_may_hold_a_text_are_seen() -> None:
    tools = calc(
        """
        from other import imported
        from pydantic_ai import RunContext, Tool

        def added(ctx: RunContext[int], to, *, body: "str" = "", number: int = 0): pass
        def open_one(to, **more): pass

        calc = FunctionToolset([added, Tool(open_one), imported])

        @calc.tool_plain
        def plain(to: str, number: float, urgent: bool): pass

        @calc.tool_plain
        @other
        def changed(to): pass
        """
    ).tools
    assert tools["added"].arguments == ("to", "body")
    assert tools["open_one"].arguments is None
    assert tools["plain"].arguments == ("to",)
    assert tools["changed"].arguments is None
    takes_context = {name for name, tool in tools.items() if tool.takes_context}
    assert takes_context == {"added", "changed", "imported"}


def test_whether_metadata_states_targets_is_seen() -> None:
    text = """
        calc = FunctionToolset({})

        @calc.tool_plain(metadata={{"targets": ["to"]}})
        def stated(to): pass

        @calc.tool_plain(metadata={{"capabilities": []}})
        def silent(to): pass

        @calc.tool_plain(metadata=META)
        def hidden(to): pass

        @calc.tool_plain(**options)
        def open_one(to): pass
        """
    of = {name: tool.states_targets for name, tool in calc(text.format("")).tools.items()}
    assert of == {"stated": True, "silent": False, "hidden": True, "open_one": True}
    every = calc(text.format('metadata={"targets": []}')).tools
    assert all(tool.states_targets for tool in every.values())
