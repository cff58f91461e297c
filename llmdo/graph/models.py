"""Model references as text: their valid forms. Making a model of one is the runtime's task."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

PROVIDERS = frozenset(
    {
        "alibaba", "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras",
        "cohere", "crusoe", "deepseek", "elevenlabs", "fireworks", "github", "github-copilot", "google",
        "google-cloud", "google-decisions", "groq", "heroku", "huggingface", "litellm", "meta", "mistral",
        "moonshotai", "nebius", "ollama", "openai", "openai-chat", "openai-chatgpt", "openai-codex",
        "openai-decisions", "openai-responses", "openrouter", "ovhcloud", "sambanova", "snowflake",
        "system-one", "together", "typesafe", "vercel", "vllm", "xai", "zai",
    }
)  # fmt: skip
"""The providers in `provider:model`, alone or after `gateway/`."""

RENAMED = {"google-gla": "google", "google-vertex": "google-cloud"}
"""Former names of providers, with the current ones."""

KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
}
"""The environment variables of which one holds the key of a provider."""

WITHOUT_PROVIDER = frozenset({"test"})
"""Models that go by one word."""

_PYTHON = "python:"
_REPLAY = "replay:"
_SCRIPT = "script:"
_RECORDINGS = (".sqlite", ".json")
"""Suffixes of an exported run, and of the output of `llmdo eval --record` for several."""
_YAML = ".yaml"
_HOSTED = re.compile(r"(?:gateway/)?([a-z0-9-]+):.+", re.DOTALL)
_ATTRIBUTE = re.compile(r"[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*")


def problem_of(reference: str, aliases: Container[str] = ()) -> str | None:
    """The fault of a model reference, in one sentence; None if its form is right.

    Only the form: whether a provider has the model is unknown without asking it.
    """
    if reference in aliases or reference in WITHOUT_PROVIDER:
        return None
    if reference.startswith(_PYTHON):
        if python_reference(reference) is None:
            return f"`{reference}` is not of the form python:FILE.py:NAME"
        return None
    if reference.startswith(_REPLAY):
        if recording_file(reference) is None:
            return f"`{reference}` is not of the form replay:FILE.sqlite, or replay:FILE.json of an eval"
        return None
    if reference.startswith(_SCRIPT):
        return None if script_file(reference) else f"`{reference}` is not of the form script:FILE.yaml"
    hosted = _HOSTED.fullmatch(reference)
    if hosted is None:
        return f"`{reference}` is neither an alias of [models] nor of the form provider:model"
    if hosted[1] not in PROVIDERS:
        return f"`{reference.partition(':')[0]}` is not a model provider that llmdo knows"
    return None


def python_reference(reference: str) -> str | None:
    """The FILE.py:NAME of a model that the workspace's own code makes; None for every other reference."""
    attribute = reference.removeprefix(_PYTHON)
    return attribute if attribute != reference and _ATTRIBUTE.fullmatch(attribute) else None


def recording_file(reference: str) -> str | None:
    """The FILE of a model that plays a recording, such as `replay:FILE.sqlite`; None for every other reference."""
    file = reference.removeprefix(_REPLAY)
    return file if file != reference and file.endswith(_RECORDINGS) and file not in _RECORDINGS else None


def script_file(reference: str) -> str | None:
    """The FILE of a model whose answers people wrote, `script:FILE.yaml`; None for every other reference."""
    file = reference.removeprefix(_SCRIPT)
    return file if file != reference and file.endswith(_YAML) and file != _YAML else None


def model_file(reference: str) -> str | None:
    """The file of answers, recorded or written, that takes the place of a model; None for every other reference."""
    return recording_file(reference) or script_file(reference)


def such_as(reference: str) -> str | None:
    """The hint about a reference without a provider; None of any other."""
    return None if ":" in reference else "name its provider as well, such as `openai:gpt-5-mini`"


_FAMILIES = {
    "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic", "gemini": "google",
    "mistral": "mistral", "grok": "xai", "deepseek": "deepseek", "command": "cohere",
}  # fmt: skip
"""How names of models begin, with their providers."""


def near_provider(reference: str) -> str | None:
    """The hint about a provider that is misspelt or missing in `reference`; None if none is similar."""
    provider, colon, model = reference.partition(":")
    if not colon and (family := _FAMILIES.get(re.split(r"[-.]", provider)[0].lower())):
        return f"did you mean `{family}:{reference}`?"
    match = RENAMED.get(provider) or nearest(provider, PROVIDERS) if colon else None
    return f"did you mean `{match}:{model}`?" if match and match != provider else None


def with_current_provider(reference: str) -> str:
    """The reference with the provider's current name."""
    provider, colon, model = reference.partition(":")
    return f"{RENAMED[provider]}:{model}" if colon and provider in RENAMED else reference


def key_variables(reference: str) -> tuple[str, ...]:
    """The environment variables of which one holds the key for a model; none if unknown."""
    provider, colon, _ = reference.partition(":")
    return KEYS.get(provider.partition("-")[0], ()) if colon else ()


def first_unfit(chain: Iterable[str], patterns: Collection[str]) -> str | None:
    """The first model of `chain` that none of `patterns` matches; None if all fit.

    A file of answers fits: nobody is asked.
    """
    return next(
        (
            model
            for model in chain
            if not model_file(model) and not any(fnmatchcase(model, pattern) for pattern in patterns)
        ),
        None,
    )
