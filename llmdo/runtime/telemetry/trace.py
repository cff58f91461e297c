"""The trace of a run: OpenTelemetry spans with the GenAI conventions, as JSON lines and by OTLP.

Spans hold events and durations; prompts, answers and other content only on request.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.journal.title import title_of
from llmdo.runtime.telemetry.log import open_for_append, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from pydantic_ai.capabilities import AbstractCapability

    from llmdo.journal.run_item import RunItem
    from llmdo.runtime.telemetry.redaction import Redaction

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_MISSING = "a trace needs a library that is not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceChoice:
    """The options of a run's trace, its redaction and its warnings."""

    environ: Mapping[str, str]
    """The standard variables of OpenTelemetry may ask for a trace as well."""
    redaction: Redaction
    say: Callable[[str], None]
    """Warns of a variable whose request cannot be met."""
    folder: Path | None = None
    """The folder of the JSON lines, one file a run."""
    content: bool = False
    """Whether prompts, answers, arguments and results are in it."""
    binary: bool = False
    """Whether attachments are in it too."""

    @property
    def endpoint(self) -> str | None:
        """The variable that asks for spans by OTLP, if one does."""
        none_wanted = self.environ.get("OTEL_TRACES_EXPORTER") == "none"
        if none_wanted or self.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
            return None
        return next((name for name in _ENDPOINTS if self.environ.get(name)), None)


@contextmanager
def tracing(
    choice: TraceChoice, *, run: str, entry: str, title: str = "", item: RunItem | None = None
) -> Iterator[tuple[AbstractCapability[object], ...]]:
    """The capabilities that trace the agents while the block runs; none without a request for a trace.

    `title` is the uncut text of the run's title, which is content.

    Raises:
        LlmdoError: The choice makes no sense, the file cannot be written or a library is missing.
    """
    if choice.content and not (choice.folder or choice.endpoint):
        raise LlmdoError("`--trace-content` needs `--trace-dir`")
    provider = _provider(choice, run) if choice.folder or choice.endpoint else None
    if provider is None:
        yield ()
        return
    settings = InstrumentationSettings(
        tracer_provider=provider,
        include_content=choice.content,
        include_binary_content=choice.binary,
        include_model_request_parameters=choice.content,
    )
    about = {
        f"llmdo.item.{name}": text for name, text in (item.data if item else {}).items() if name != "title"
    }
    if choice.content:
        about["llmdo.title"] = title_of(None, choice.redaction.text(title))
    try:
        # One root: the agents that a function calls are roots of their own otherwise.
        with provider.get_tracer("llmdo").start_as_current_span(
            f"run {entry}",
            attributes={"llmdo.run": run, "llmdo.entry": entry, **about},
            record_exception=False,
        ):
            yield (Instrumentation(settings),)
    finally:
        provider.shutdown()


def _provider(choice: TraceChoice, run: str) -> TracerProvider | None:
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    except ImportError as error:
        if choice.folder:
            raise LlmdoError(_MISSING, hint=installing("otel")) from error
        choice.say(f"`{choice.endpoint}` is set, but {_MISSING}: {installing('otel')}")
        return None
    named = {} if choice.environ.get("OTEL_SERVICE_NAME") else {"service.name": "llmdo"}
    provider = TracerProvider(resource=Resource.create({**named, "llmdo.run": run}), shutdown_on_exit=False)
    if choice.folder:
        lines = Redacting(JsonLines(_file(choice.folder, run)), choice.redaction)
        provider.add_span_processor(SimpleSpanProcessor(cast("SpanExporter", lines)))
    if exporter := _otlp(choice):
        sent = Redacting(exporter, choice.redaction)
        provider.add_span_processor(BatchSpanProcessor(cast("SpanExporter", sent)))
    return provider


def _file(folder: Path, run: str) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LlmdoError(f"cannot make the folder `{folder}`: {error.strerror}") from error
    return open_for_append(folder / f"{run}.jsonl", new=True)


def _otlp(choice: TraceChoice) -> Exporter | None:
    """The exporter that the environment asks for, which reads its address there itself."""
    if choice.endpoint is None:
        return None
    protocol = next((choice.environ[name] for name in _PROTOCOLS if choice.environ.get(name)), "")
    kind = "grpc" if protocol == "grpc" else "http"
    try:
        module = import_module(f"opentelemetry.exporter.otlp.proto.{kind}.trace_exporter")
    except ImportError:
        package = f"opentelemetry-exporter-otlp-proto-{kind}"
        choice.say(f"`{choice.endpoint}` is set, but no exporter is installed: `pip install {package}`")
        return None
    exporter: Exporter = module.OTLPSpanExporter()
    return exporter


class Exporter(Protocol):
    """The exporter as the library's span processors use it."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Takes spans that ended."""
        ...

    def shutdown(self) -> None:
        """Takes no more."""
        ...

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Whether all taken spans are out."""
        ...


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Writes each ended span as a line of JSON, children before their parents."""

    descriptor: int

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Writes the spans."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        lines = "".join(f"{span.to_json(indent=None)}\n" for span in spans)
        try:
            write_all(self.descriptor, lines.encode())
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Closes the file."""
        os.close(self.descriptor)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the library's signature
        """True: nothing is held back."""
        return True


@dataclass(frozen=True, slots=True)
class Redacting:
    """Passes spans on without secrets."""

    exporter: Exporter
    redaction: Redaction

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Passes the spans on."""
        return self.exporter.export([self._redacted(span) for span in spans])

    def shutdown(self) -> None:
        """Takes no more."""
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Whether all taken spans are out."""
        return self.exporter.force_flush(timeout_millis)

    def _redacted(self, span: ReadableSpan) -> ReadableSpan:
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.trace import Status

        description = span.status.description
        return ReadableSpan(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._attributes(span.attributes),
            events=[
                Event(event.name, self._attributes(event.attributes), event.timestamp)
                for event in span.events
            ],
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, self.redaction.text(description))
            if description
            else span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _attributes(self, attributes: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            key: self.redaction.text(value) if isinstance(value, str) else value
            for key, value in (attributes or {}).items()
        }
