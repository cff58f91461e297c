"""The post: how many mails wait, and a way to send one. What is sent goes into a file, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai.toolsets import FunctionToolset

FOLDER = Path(__file__).parent

post = FunctionToolset()


@post.tool_plain(metadata={"capabilities": ["x.post.waiting"]})
def waiting() -> list[int]:
    """The numbers of the mails that wait."""
    return sorted(int(mail.stem) for mail in FOLDER.glob("mail/*.txt"))


@post.tool_plain(metadata={"capabilities": ["x.post.send"]})
def send(to: str, body: str) -> str:
    """Send a mail."""
    sent = FOLDER / "sent"
    sent.mkdir(exist_ok=True)
    with (sent / "outbox.txt").open("a", encoding="utf-8") as outbox:
        outbox.write(f"to {to}: {body}\n")
    return "sent"
