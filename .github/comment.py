"""The comment of the action on a pull request: what the change lets which agent do. There is one, edited each time.

All that it needs is in environment variables, and nothing of the change is imported. A token that may not write, as
that of a run for a fork, is no failure: the summary of the run has the answer, and a sentence that says so.
"""

from __future__ import annotations

import json
import os
import re
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

LONGEST = 60_000  # characters: GitHub takes 65,536
PAGE = 100  # comments that are asked for at once
MANY = 30  # pages
SECONDS = 20  # for one question
BOT = "github-actions[bot]"
"""The author of comments by the token of a run; a comment of anybody else is left alone, whatever is in it."""

SAME = "### llmdo: same\n"
"""The beginning of an answer about a change after which agents can do what they could before."""

MAY_NOT = (
    "The token of this run may not comment on the pull request, as with one from a fork, so the answer stands here "
    "alone. In a repository of your own, `pull-requests: write` under `permissions` lets it."
)
NOT_COMPARED = "### llmdo: not compared\n\nWhat this change lets agents do is not known: the run says why."


class RefusedError(Exception):
    """GitHub did not do what it was asked for."""

    def __init__(self, status: int) -> None:
        super().__init__(f"GitHub answered {status}")
        self.status = status


class GitHub(NamedTuple):
    """The comments of one pull request, by GitHub's API. Redirections are not followed, as the token would go along."""

    api: str
    token: str
    repository: str
    number: int

    def own_comment(self, mark: str) -> int | None:
        """The comment that begins with the mark and is the action's own."""
        for page in range(1, MANY + 1):
            path = f"issues/{self.number}/comments?per_page={PAGE}&page={page}"
            comments = self._ask("GET", path)
            for each in comments:
                is_ours = (each.get("user") or {}).get("login") == BOT
                if is_ours and (each.get("body") or "").startswith(mark):
                    return int(each["id"])
            if len(comments) < PAGE:
                break
        return None

    def write(self, comment: int | None, body: str) -> None:
        """Edits the comment, or writes a new one."""
        if comment is None:
            self._ask("POST", f"issues/{self.number}/comments", {"body": body})
        else:
            self._ask("PATCH", f"issues/comments/{comment}", {"body": body})

    def _ask(self, method: str, path: str, data: object = None) -> list[dict]:
        address = urlsplit(self.api)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        connection = kind(address.netloc, timeout=SECONDS)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "llmdo",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        try:
            body = None if data is None else json.dumps(data).encode()
            connection.request(method, f"{address.path}/repos/{self.repository}/{path}", body, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status not in (200, 201):
            raise RefusedError(response.status)
        return json.loads(content)


def playground_link(address: str, repository: str, base: str, head: str) -> str:
    """The link to the change in a playground; empty without an address, or with one that is none."""
    if not re.fullmatch(r"https://[\w.~:/%-]+", address, re.ASCII):
        return ""
    query = urlencode({"repo": repository, "diff": f"{base}...{head}"}, safe="/")
    return f"[Look at this change in the playground]({address}?{query})\n"


def body_of(mark: str, answer: str, link: str, run: str) -> str:
    """The comment: the answer, of a long one the beginning, and the links."""
    if len(answer) > LONGEST:
        answer = answer[:LONGEST].rpartition("\n")[0]
        answer += "\n" + "</details>" * (answer.count("<details>") - answer.count("</details>"))
        answer += "\n\nThat is not all: the run has the rest.\n"
    return f"{mark}\n{answer.rstrip()}\n\n{link}\n[The run]({run})\n"


def main() -> None:
    """Writes the comment, or says in the summary why there is none."""
    environ = os.environ
    file = Path(environ["RUNNER_TEMP"]) / "llmdo-diff.md"
    answer = file.read_text(encoding="utf-8") if environ["COMPARED"] in ("success", "failure") else ""
    link = playground_link(environ["PLAYGROUND"], environ["REPOSITORY"], environ["BASE"], environ["HEAD"])
    mark = f"<!-- llmdo {quote(environ['FOLDER'], safe='')} -->"
    github = GitHub(
        environ["GITHUB_API_URL"], environ["TOKEN"], environ["REPOSITORY"], int(environ["NUMBER"])
    )
    notes = [link] if link else []
    if environ["PLAYGROUND"] and not link:
        notes.append("`playground` is not an address that begins with `https://`, so there is no link.\n")
    try:
        comment = github.own_comment(mark)
        if comment is not None or (answer and not answer.startswith(SAME)):
            github.write(comment, body_of(mark, answer or NOT_COMPARED, link, environ["RUN"]))
    except RefusedError as error:
        reason = MAY_NOT if error.status in (401, 403, 404) else f"There is no comment: {error}."
        notes.append(f"{reason}\n")
    except (OSError, HTTPException, ValueError) as error:
        notes.append(f"There is no comment: GitHub could not be asked ({type(error).__name__}).\n")
    with Path(environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
        summary.writelines(f"\n{note}" for note in notes)
    sys.stdout.writelines(notes)


if __name__ == "__main__":
    main()
