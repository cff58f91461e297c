"""The page about a project of strangers: their words are shown, and nothing in a page obeys them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from llmdo.base.diagnostic import finding, shown
from llmdo.base.source import Location, Source
from llmdo.foreign import foreign_of
from llmdo.foreign.summary import summary_of
from llmdo.foreign.team import Agent, Team
from llmdo.render.foreign import alike
from llmdo.render.markdown import code, escaped, with_code
from llmdo.render.page import page
from llmdo.syntax.document import Document, Place
from tests.support.laws import tried

if TYPE_CHECKING:
    from markdown_it.token import Token

OWN_TAGS = {
    *("<code>", "</code>", "</details>"),
    *("<details><summary>Agent by agent</summary>", "<details><summary>1 more finding</summary>"),
}

words = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b c",
                "`",
                "``",
                "|",
                "\n",
                "\r",
                "*",
                "_",
                "~~",
                "\\",
                "[a](b)",
                "![a](b)",
                "<b>",
                "</code>",
                "<!--",
            ),
            *(
                "<script>",
                "&lt;",
                "&#96;",
                "@octocat",
                "#12",
                "GH-1",
                "http://a.example",
                "www.a.example",
                "$x$",
                "> ",
                "- ",
            ),
            *("\u202e", "\x1b[31m", "1. ", "# ", "---", "é", ":smile:", "</details>", "(each)", " > "),
        ]
    ),
    max_size=6,
).map("".join)


def tokens(markdown: str) -> list[Token]:
    """What GitHub would make of it, one token after another."""
    parsed = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    return [inner for token in parsed for inner in (token, *(token.children or ()))]


def obeys_nothing(markdown: str) -> None:
    """Nothing of what GitHub makes of it is from anybody but us."""
    in_code = False
    for token in tokens(markdown):
        assert token.type not in ("link_open", "image", "em_open", "s_open", "blockquote_open", "hr", "fence")
        assert token.type != "code_block"
        if token.type in ("html_inline", "html_block"):
            assert {*filter(None, token.content.split("\n"))} <= OWN_TAGS, token.content
            in_code = {"<code>": True, "</code>": False}.get(token.content, in_code)
        elif token.type == "text" and not in_code:
            assert not re.search(r"[@#]\w|\w@\w", token.content), token.content


@given(words)
@tried(200)
def test_text_is_shown_as_it_is_and_obeyed_by_nothing(text: str) -> None:
    for drawn in (escaped(text), code(text), with_code(text), with_code(f"`{text}` has every tool")):
        obeys_nothing(f"- x {drawn}\n")
    written = "".join(
        each.content for each in tokens(f"| a |\n| - |\n| x {escaped(text)} y |") if not each.children
    )
    assert written.replace("\u200b", "").replace(" ", "") == f"ax{shown(text)}y".replace(" ", "")


@given(st.lists(words, min_size=1, max_size=4, unique=True), words)
@tried(60)
def test_a_page_about_hostile_names_has_only_tags_links_and_lines_of_ours(
    names: list[str], other: str
) -> None:
    document = Document(Source(f"{other}.md", "x"), {}, dict)
    at = Place(document, ("name",))
    agents = tuple(Agent(name=name, at=at, path=f"{other}.md", prompt="", inherits=True) for name in names)
    problems = (
        finding(
            "LDO250", Location(f"{other}.md"), f"there is no tool `{other}`", hint=f"did you mean `{other}`?"
        ),
        finding("LDO154", Location(f"{other}.md"), f"`{other}.md` is a link, so it was not read"),
    )
    team = Team(format="claude", agents=agents, files=(f"{other}.md",), problems=problems)
    read = foreign_of(Path(), team, (team,))
    reached = alike((entry, read.analysis.of(entry)) for entry in read.graph.entries.values())
    drawn = page(read, summary_of(read, problems), list(reached))
    obeys_nothing(drawn)
    assert [line[:3] for line in drawn.split("\n") if line.startswith("#")] == ["## ", *["###"] * 5][
        : drawn.count("\n#") + 1
    ]
