"""What the server lets in, and what it says to everything else."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llmdo.features.page.subject import Subject
from tests.features.page.conftest import EXAMPLES, Served, serving


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(Subject(project=str(EXAMPLES / "confused_deputy"))) as served:
        yield served


def ask(
    served: Served, path: str = "/api/project", method: str = "GET", body: bytes = b"", **headers: str | None
) -> Response:
    """A request; of a header that is None, nothing is sent, and of the token and the host what is right."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    right = {"host": f"127.0.0.1:{served.port}", "authorization": f"Bearer {served.token}"}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**right, **names}.items():
        if value is not None:
            connection.putheader(name, value)
    if method == "POST" and "content-length" not in names:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body or None)
    answer = connection.getresponse()
    response = Response(
        answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    )
    connection.close()
    return response


def test_whoever_knows_the_token_is_answered(served: Served) -> None:
    response = ask(served)
    assert response.status == 200
    assert response.data["name"] == "confused_deputy"


@pytest.mark.parametrize("token", [None, "", "Bearer ", "Bearer wrong", "Basic x"])
def test_without_the_token_there_are_no_data(served: Served, token: str | None) -> None:
    assert ask(served, authorization=token).status == 401


@pytest.mark.parametrize("name", ["Authorization", "Origin", "Host"])
def test_a_header_that_is_there_twice_is_refused_whichever_is_right(served: Served, name: str) -> None:
    """Whoever stands between a browser and the server may read the other of the two."""
    right = {
        "Authorization": f"Bearer {served.token}",
        "Host": f"127.0.0.1:{served.port}",
        "Origin": f"http://127.0.0.1:{served.port}",
    }
    for values in ((right[name], "evil.example"), ("evil.example", right[name]), (right[name], right[name])):
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        connection.putrequest("GET", "/api/project", skip_host=True, skip_accept_encoding=True)
        for each, value in right.items():
            for sent in values if each == name else (value,):
                connection.putheader(each, sent)
        connection.endheaders()
        assert connection.getresponse().status == 400, values
        connection.close()


def test_the_token_counts_nowhere_but_in_its_header(served: Served) -> None:
    by_query = ask(served, f"/api/project?token={served.token}", authorization=None)
    by_cookie = ask(served, authorization=None, cookie=f"token={served.token}")
    assert {by_query.status, by_cookie.status} == {401}


@pytest.mark.parametrize("path", ["/", "/api/project"])
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", "", None]
)
def test_a_name_that_was_bound_anew_is_no_name_of_the_server(
    served: Served, host: str | None, path: str
) -> None:
    assert ask(served, path, host=host).status == (400 if host is None else 421)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("port", ["", ":80", ":9000"])
def test_a_tunnel_may_give_the_server_another_port(served: Served, name: str, port: str) -> None:
    assert ask(served, host=name + port).status == 200


@pytest.mark.parametrize("path", ["/", "/api/project"])
@pytest.mark.parametrize(
    "origin",
    ["null", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "file://", "http://localhost"],
)
def test_another_origin_is_refused_even_with_the_token(served: Served, origin: str, path: str) -> None:
    assert ask(served, path, origin=origin).status == 403


def test_the_origin_of_the_page_itself_is_its_own(served: Served) -> None:
    assert ask(served, origin=f"http://127.0.0.1:{served.port}").status == 200
    assert ask(served, host="localhost:9000", origin="http://localhost:9000").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_what_a_browser_says_comes_from_elsewhere_gets_no_data(served: Served, site: str) -> None:
    assert ask(served, sec_fetch_site=site).status == 403


def test_a_person_may_open_the_page_from_anywhere_but_nothing_may_embed_it(served: Served) -> None:
    opened = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert ask(served, "/", **opened, sec_fetch_dest="document").status == 200
    assert ask(served, "/", **opened, sec_fetch_dest="iframe").status == 403
    assert ask(served, "/", sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain",
        "text/plain; application/json",
        None,
    ],
)
def test_a_form_is_no_request(served: Served, kind: str | None) -> None:
    assert ask(served, method="POST", body=b"{}", content_type=kind).status == 415


def test_a_request_has_a_length_and_an_end(served: Served) -> None:
    of_json = {"method": "POST", "content_type": "application/json"}
    assert ask(served, **of_json, content_length=str(100 * 1024 * 1024)).status == 413
    assert ask(served, **of_json, content_length=None).status == 411


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused_and_no_other_site_is_let_in_by_asking_first(
    served: Served, method: str
) -> None:
    response = ask(served, method=method, authorization=None)
    assert (response.status, response.data["error"]) == (405, "only GET and POST are known here")
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/api/project", 200), ("/api/nothing", 404), ("/nothing", 404), ("/../../etc/passwd", 404)],
)
def test_every_response_stays_in_its_place(served: Served, path: str, status: int) -> None:
    response = ask(served, path)
    assert response.status == status
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in response.headers
    policy = response.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy


def test_a_refusal_is_marked_like_every_other_response(served: Served) -> None:
    response = ask(served, host="evil.example")
    assert response.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


def test_the_document_holds_neither_data_nor_the_token(served: Served) -> None:
    body = ask(served, "/", authorization=None).body
    assert served.token.encode() not in body
    assert b"confused_deputy" not in body


@pytest.mark.parametrize(
    "path",
    [
        "/api/reach",
        "/api/reach?entry=triage&entry=release",
        "/api/reach?entri=triage",
        "/api/reach?entry=triage&entri=x",
    ],
)
def test_a_request_that_says_too_little_or_too_much_is_refused_with_a_sentence(
    served: Served, path: str
) -> None:
    response = ask(served, path)
    assert response.status == 400
    assert "parameter" in response.data["error"]


def test_an_error_is_a_sentence_with_its_hint(served: Served) -> None:
    response = ask(served, "/api/reach?entry=triag")
    assert response.status == 422
    assert response.data["error"] == "there is no entry `triag`"
    assert "triage" in response.data["hint"]


def test_an_address_of_every_network_knows_addresses_and_no_foreign_names() -> None:
    with serving(Subject(project=str(EXAMPLES / "greeter")), host="0.0.0.0") as served:
        assert ask(served, host=f"192.0.2.7:{served.port}").status == 200
        for name in ("evil.example", "192.0.2.7.evil.example", "evil.192.0.2.7", "[::1].evil.example"):
            assert ask(served, host=name).status == 421, name


def test_a_workspace_that_breaks_while_it_is_shown_is_reported(
    example: Callable[[str], Path], serve: Callable[..., Served]
) -> None:
    root = example("greeter")
    served = serve(root)
    (root / "llmdo.toml").write_text("schema = 1\n[workspace", encoding="utf-8")
    assert ask(served).status == 200  # what is broken is told in it
    assert ask(served).data["notes"]
    (root / "llmdo.toml").unlink()
    assert ask(served).status == 422
