"""The policy of the page, as a browser keeps it: no markup from text, no other script, no other machine, no frame."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.features.page.conftest import EXAMPLES, Served

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]


def test_text_cannot_become_markup_or_code(page: Page, serve: Serve, provoked: list[str]) -> None:
    provoked += ["TrustedHTML", "TrustedScript", "Content Security Policy"]
    serve(EXAMPLES / "greeter").open(page)
    tried = page.evaluate(
        """() => ["innerHTML", "outerHTML"].map(name => {
          try { document.getElementById("main")[name] = "<b>x</b>"; return "set"; } catch (error) { return error.name; }
        })"""
    )
    assert tried == ["TypeError", "TypeError"]
    page.evaluate(
        "() => { const script = document.createElement('script'); try { script.textContent = 'hit = 1'; } catch {} document.body.append(script); }"
    )
    assert page.evaluate("typeof hit") == "undefined"


def test_no_request_leaves_the_machine(page: Page, serve: Serve, provoked: list[str]) -> None:
    served = serve(EXAMPLES / "greeter")
    served.open(page)
    other = serve(EXAMPLES / "confused_deputy")
    provoked.append("Content Security Policy")
    for address in (other.address, "http://192.0.2.1/"):
        with page.expect_console_message(lambda line: "Content Security Policy" in line.text):
            reached = page.evaluate(
                "address => fetch(address).then(() => 'reached', () => 'refused')", address
            )
        assert reached == "refused"
    image = "address => new Promise(r => { const i = new Image(); i.onload = () => r('seen'); i.onerror = () => r('refused'); i.src = address; })"
    assert page.evaluate(image, f"{other.address}x.png") == "refused"


@pytest.mark.long
def test_nothing_can_embed_the_page(page: Page, serve: Serve) -> None:
    served = serve(EXAMPLES / "greeter")
    page.route(
        "http://localhost:9/",
        lambda route: route.fulfill(body=f"<iframe src={served.address}></iframe>", content_type="text/html"),
    )
    page.goto("http://localhost:9/")
    page.wait_for_load_state("networkidle")
    frames = [frame for frame in page.frames if frame != page.main_frame]
    assert all("llmdo" not in frame.title() for frame in frames)


@pytest.mark.long
def test_a_printed_page_has_what_is_shown_and_none_of_the_tools(page: Page, serve: Serve) -> None:
    serve(EXAMPLES / "approvals_demo").open(page, "#/reach/demo")
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.locator(".canvas .tools")).to_be_hidden()
    expect(page.locator(".area .graph")).to_be_visible()
    expect(page.locator(".row").last).to_be_visible()
