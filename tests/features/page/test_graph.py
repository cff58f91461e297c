"""The graph of an entry in a real browser: what is folded, what is marked, and how one walks through it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.features.page.conftest import Served, go
from tests.features.page.teams import chain, team

pytestmark = pytest.mark.browser

GATED = '"agent.delegate" = "needs_approval"\n"fs.write" = "allowed"\n'
FREE = '"fs.write" = "allowed"\n'

Serve = Callable[..., Served]


def boxes(page: Page) -> Locator:
    return page.locator(".graph [data-id]")


def names(page: Page) -> set[str]:
    return {str(box.get_attribute("data-id")) for box in boxes(page).all()}


@pytest.mark.long
def test_two_levels_are_drawn_and_the_way_to_what_is_chosen_whole(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    serve(chain(tmp_path, 6, FREE)).open(page, "#/reach/worker_0?at=worker_0")
    expect(boxes(page)).to_have_count(3)
    expect(page.locator(".unfold")).to_have_text("+4")
    go(page, "#/reach/worker_0?to=fs.write%3Aout%2F**")
    expect(boxes(page)).to_have_count(7)
    expect(page.locator(".graph .label.ungated text")).to_have_text(["no gate"] * 5)
    expect(page.locator(".graph .badge.way")).to_contain_text("filesystem")
    expect(page.locator(".path .place")).to_contain_text(["w/worker_0.worker:5", "w/worker_5.worker:5"])


@pytest.mark.long
def test_a_gate_on_the_way_is_drawn_where_it_stands(page: Page, serve: Serve, tmp_path: Path) -> None:
    serve(chain(tmp_path, 3, GATED)).open(page, "#/reach/worker_0?to=fs.write%3Aout%2F**")
    expect(page.locator(".graph .label text")).to_have_text(["asks", "asks"])
    expect(page.locator(".row[aria-pressed=true] .flag")).to_have_count(0)
    expect(page.locator(".witness .because")).to_contain_text(
        '"agent.delegate" = "needs_approval" llmdo.toml:8'
    )


@pytest.mark.long
def test_what_is_folded_unfolds_a_level_at_a_time(page: Page, serve: Serve, tmp_path: Path) -> None:
    serve(chain(tmp_path, 5, FREE)).open(page, "#/reach/worker_0?at=worker_0")
    page.locator(".unfold").click()
    assert names(page) == {"entry:worker_0", *(f"worker:worker_{number}" for number in range(3))}
    page.locator(".unfold", has_text="+2").click()
    assert "worker:worker_3" in names(page)
    page.get_by_role("button", name="All", exact=True).click()
    expect(boxes(page)).to_have_count(6)
    expect(page.locator(".unfold")).to_have_count(0)


@pytest.mark.long
def test_folders_fold_to_boxes_and_what_is_chosen_stands_outside(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    workers = {"main": ["a1", "b1"], "a/a1": ["a2"], "a/a2": ["b2"], "b/b1": [], "b/b2": ["filesystem:out"]}
    serve(team(tmp_path, workers, FREE)).open(page, "#/reach/main?at=main")
    page.get_by_role("button", name="Folders").click()
    assert names(page) == {"entry:main", "worker:main", "folder:a/", "folder:b/"}
    page.locator('[data-id="folder:b/"]').click()
    assert names(page) >= {"worker:b1", "worker:b2", "folder:a/"}
    go(page, "#/reach/main?to=fs.write%3Aout%2F**")
    assert {"worker:a1", "worker:a2", "worker:b2"} <= names(page)


@pytest.mark.long
def test_a_selector_shows_the_ways_to_what_it_means(
    page: Page, serve: Serve, tmp_path: Path, provoked: list[str]
) -> None:
    provoked.append("status of 422")
    workers = {"main": ["a", "b"], "a": ["c"], "b": ["d"], "c": [], "d": ["filesystem:out"]}
    serve(team(tmp_path, workers, FREE)).open(page, "#/reach/main?at=main")
    page.get_by_role("textbox", name="Selector").fill("d")
    page.keyboard.press("Enter")
    expect(page.locator('[data-id="worker:d"]')).to_be_visible()  # before and after it are four boxes
    assert names(page) == {"entry:main", "worker:main", "worker:b", "worker:d"}
    page.get_by_role("textbox", name="Selector").fill("dd")
    page.keyboard.press("Enter")
    expect(page.locator(".selector .wrong")).to_contain_text("dd")
    page.get_by_role("textbox", name="Selector").fill("")
    page.keyboard.press("Enter")
    expect(page.locator(".unfold")).to_have_text(["+1", "+1"])
    assert names(page) == {"entry:main", "worker:main", "worker:a", "worker:b"}


@pytest.mark.long
def test_the_keyboard_alone_walks_through_list_and_graph(page: Page, serve: Serve, tmp_path: Path) -> None:
    served = serve(chain(tmp_path, 5, FREE))
    served.open(page, "#/reach/worker_0?at=worker_0")
    page.keyboard.press("t")
    focused = page.locator(":focus")
    expect(focused).to_have_attribute("data-id", "entry:worker_0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_attribute("data-id", "worker:worker_1")
    page.keyboard.press("Space")
    expect(boxes(page)).to_have_count(4)
    expect(focused).to_have_attribute("data-id", "worker:worker_1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".witness h2")).to_have_text("worker_2")
    assert page.url.endswith("?at=worker_2")
    page.keyboard.press("j")
    expect(page.locator(".row[aria-pressed=true]")).to_have_count(1)
    page.keyboard.press("/")
    page.keyboard.type("worker_4")
    page.keyboard.press("Enter")
    expect(page.locator(".witness h2")).to_have_text("worker_4")
    assert "worker:worker_4" in names(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next capability")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.locator("h1")).to_have_text("What can be reached")


@pytest.mark.long
@pytest.mark.window(viewport={"width": 390, "height": 844})
def test_a_narrow_window_has_the_graph_grow_downwards_and_nothing_beside_it(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    serve(chain(tmp_path, 4, FREE)).open(page, "#/reach/worker_0?to=fs.write%3Aout%2F**")
    tops = [box.bounding_box() for box in boxes(page).all()]
    assert len({round(box["x"] + box["width"] / 2) for box in tops if box}) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".row").last.click()
    expect(page.locator(".canvas")).to_be_in_viewport()


@pytest.mark.long
def test_a_worker_that_calls_itself_and_one_that_is_missing_are_drawn(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    team(tmp_path, {"main": ["again"], "again": ["main"]})
    header = (
        (tmp_path / "again.worker").read_text(encoding="utf-8").replace("entry: false", "recursive: true")
    )
    (tmp_path / "again.worker").write_text(header, encoding="utf-8")
    with (tmp_path / "llmdo.toml").open("a", encoding="utf-8") as file:
        file.write('[entries.gone]\nworker = "nobody"\n')
    served = serve(tmp_path)
    served.open(page, "#/reach/main")
    expect(boxes(page)).to_have_count(3)
    go(page, "#/reach/gone")
    expect(page.locator(".box.missing")).to_have_count(1)
    expect(page.locator(".state")).to_contain_text("It reaches nothing")


@pytest.mark.long
def test_both_legs_are_shown_of_what_may_follow_a_strangers_words(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    flows = (
        '"fs.write" = "allowed"\n[flows]\n"data.untrusted -> fs.write" = "needs_approval"\n'
        '[sources]\n"fs.read" = "data.untrusted"\n'
    )
    serve(chain(tmp_path, 3, flows)).open(page, "#/reach/worker_0?to=fs.write%3Aout%2F**")
    after = page.locator(".witness .after")
    expect(after.locator(".verdict")).to_contain_text("A person is asked then.")
    expect(after.locator(".leg")).to_have_count(2)
    expect(after.locator(".leg").first).to_contain_text("filesystem (edit_file)")
    expect(after.locator(".leg").last).to_contain_text("filesystem (edit_file)")
    expect(after).to_contain_text('"data.untrusted -> fs.write" = "needs_approval"')
    go(page, "#/reach/worker_0?to=agent.delegate")
    expect(after).to_have_count(0)


@pytest.mark.long
def test_both_legs_are_drawn_of_a_row_that_is_chosen_after_a_strangers_words(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    flows = (
        '"fs.write" = "allowed"\n[flows]\n"data.untrusted -> fs.write" = "needs_approval"\n'
        '[sources]\n"fs.read:mail/**" = "data.untrusted"\n'
    )
    workers = {"main": ["reader", "writer"], "reader": ["filesystem:mail"], "writer": ["filesystem:out"]}
    writer = team(tmp_path, workers, flows) / "writer.worker"
    header = writer.read_text(encoding="utf-8").replace("{ write", '{ read: ["out/**"], write')
    writer.write_text(header, encoding="utf-8")
    serve(tmp_path).open(page, "#/reach/main?to=fs.write%3Aout%2F**")
    expect(page.locator(".graph .leg")).to_have_count(0)
    expect(page.locator(".legend")).not_to_contain_text("stranger")
    page.locator('.row[data-after="fs.write:out/**"]').click()
    assert "?after=fs.write" in page.url
    expect(page.locator(".row[aria-pressed=true]")).to_have_count(1)
    expect(page.locator(".graph .label.leg text")).to_have_text(["in and out", "in", "out"])
    dashes = "element => getComputedStyle(element).strokeDasharray"
    for stroke in page.locator(".graph .line.leg .stroke.in").all():
        assert stroke.evaluate(dashes) != "none"
    assert [out.evaluate(dashes) for out in page.locator(".canvas .area .stroke.out").all()] == ["none"] * 2
    expect(page.locator('[data-id="worker:reader"] .badge .ring')).to_have_count(1)
    expect(page.locator('[data-id="worker:writer"] .badge.out.needs_approval')).to_have_count(1)
    expect(page.locator(".legend")).to_contain_text("in, to a stranger's words")
    expect(page.locator(".witness .leg").last).to_contain_text("writer")
    go(page, "#/reach/main?to=fs.write%3Aout%2F**")
    expect(page.locator(".graph .leg")).to_have_count(0)
    page.locator(".witness .after h3 a").click()
    expect(page.locator(".graph .label.leg text")).to_have_text(["in and out", "in", "out"])
