"""The journals of `llmdo hook`: decisions on calls, with what each raised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.features.hook.clients import NAMES
from llmdo.features.hook.events import ClientEvent
from llmdo.features.hook.session import folder_of
from llmdo.features.hook.transcripts.recorded import (
    RecordedCall,
    RecordedContext,
    Transcript,
    mapping,
    word,
)
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT = "journals"


def places(root: str, environ: Mapping[str, str]) -> Iterator[str]:  # noqa: ARG001
    """The files of all sessions; the state beside each says of which project it is."""
    try:
        folder = folder_of(environ)
        names = sorted(path.name for path in Path(folder).iterdir())
    except OSError:
        return
    yield from (f"{folder}/{name}" for name in names if name.endswith(".jsonl"))


def recognizes(record: Mapping[str, object]) -> bool:
    """Whether it is a record of such a journal."""
    return {"n", "kind", "prev", "hash"} <= record.keys()


def recording(records: Iterable[Mapping[str, object]], name: str, root: str) -> Transcript:
    """What one file records; the root of its session is put before the records."""
    client, _, session = name.removesuffix(".jsonl").partition("-")
    calls: list[RecordedCall] = []
    contexts: dict[str, RecordedContext] = {}
    done: set[str] = set()
    is_here = False
    for record in records:
        if "root" in record:
            if word(record["root"]) != root:
                return Transcript(client=client, session=session, is_elsewhere=True)
            is_here = True
            continue
        path, tool, key = word(record.get("path")), word(record.get("tool")), f"{name} {record.get('n')}"
        if not is_here:
            return Transcript(client=client, session=session, is_elsewhere=True)
        if record.get("kind") != "decided" or not path.endswith(f"/{tool}") or client not in NAMES:
            continue
        agents = path.removesuffix(f"/{tool}").split("/")
        above: str | None = None
        for number, agent in enumerate(agents, 1):
            context = f"{name} {'/'.join(agents[:number])}"
            contexts[context] = RecordedContext(agent=agent, parent=above, is_main=above is None)
            above = context
        texts = record.get("capabilities")
        raised = frozenset(map(Capability.parse, map(word, texts if isinstance(texts, list) else ())))
        event = ClientEvent(
            kind="call",
            session=session,
            folder=root,
            context=str(above),
            tool=tool,
            arguments=mapping(record.get("arguments")),
        )
        calls.append(RecordedCall(key=key, event=event, raised=raised))
        is_let = record.get("decision") == "allowed" or record.get("by") == "client"
        if is_let and not record.get("cut"):
            done.add(key)
    return Transcript(
        client=client,
        session=session,
        calls=tuple(calls),
        contexts=contexts,
        done=frozenset(done),
    )
