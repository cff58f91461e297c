"""Programs of a repository that get the key of a model and are no known agent: each may be one."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, field
from llmdo.features.github_actions.workflow import (
    LIKE_AN_AGENT,
    agents_in,
    filled,
    in_checkout,
    texts_of_step,
    written,
)
from llmdo.foreign.programs import OF_A_SHELL
from llmdo.foreign.scripts import MAX_LENGTH, commands
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.features.github_actions.workflow import Variable
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document, Route

_MODEL_KEY = re.compile(
    r"(?!\w*(?:GITHUB|GH)_TOKEN$)(?:AZURE_)?(?:ANTHROPIC|CLAUDE|CODEX|CURSOR|DEEPSEEK|GEMINI|GROQ|KIRO|MISTRAL|OPENAI|OPENCODE|OPENROUTER"
    r"|XAI)"
    r"\w*_(?:KEY|TOKEN)"
    r"|(?:GOOGLE|LLM)_(?:(?:AI|API|AUTH|GATEWAY|GEMINI|GENAI|GENERATIVE|MODEL|PROVIDER|PROXY|VERTEX)_)*(?:KEY|TOKEN)"
)
"""Variables that hold the key of a model."""
_OWN_MODEL = re.compile(r"\w+_(?:API_BASE|BASE_URL|ENDPOINT)")
"""Variables that hold the address of a model, which may be one without a key."""
_STANDS_IN = re.compile(
    r"(?:^|[-_.])(?:dummy|example|fake|invalid|mock|none|placeholder|stub|test|unused)(?:[-_.]|$)",
    re.IGNORECASE,
)
"""A word of a text that stands where a key would, so that a program starts."""
_LEAST_OF_A_KEY = 20
"""The characters of a key that somebody wrote into a file."""
_SCRIPT = re.compile(r"(?:^\.?/|^[\w.-]+/).|\.(?:[cm]?[jt]s|py|rb|sh)$")
"""A program of the repository, by its path or its ending."""
_OTHER_AGENTS = frozenset(
    {
        "aider", "amp", "auggie", "crush", "droid", "goose", "gptme", "iflow", "kilocode", "omp", "openhands",
        "plandex", "qwen", "sweagent", "trae-cli",
    }
)  # fmt: skip
"""Programs of agents that are not read in workflows."""
_OF_GH_AW = "/gh-aw/actions/"
"""The folder of programs that gh-aw brings along, of which none is an agent."""
_INTERPRETERS = frozenset({"bash", "bun", "deno", "go", "node", "python", "python3", "ruby", "sh", "tsx"})
_OF_MODELS = re.compile(
    r"\b(?:anthropic|claude|codex|crewai|dspy|gemini|genai|langchain\w*|langgraph|litellm|llama_?index|llms?|mistralai"
    r"|openai|opencode|openrouter|pydantic_ai|smolagents)\b",
    re.IGNORECASE,
)
"""A word of a program that asks a model."""


class _Run(NamedTuple):
    """A run of a program that may be an agent."""

    words: str
    """Its command up to its name."""
    program: str
    folder: str
    """The folder that its step was in, below which its own path may be."""


class _GivenKey(NamedTuple):
    """A run of a program with a key that all of its job has."""

    document: Document
    at: Location
    words: str
    keys: tuple[tuple[str, Route], ...]
    """The lines with the keys: the path of each file, and the route in it."""
    key: str
    """The name of the first."""
    is_likely: bool
    """Whether the program is an agent's by its name, or its text is about models."""


def unknown_program(
    step: Mapping[str, object], inputs: Mapping[str, str], passed: Sequence[str] = ()
) -> tuple[str, str] | None:
    """The first program of a step that could be an agent, and the model's key that it gets; None without either.

    Of a program called as an agent is, any key of an API may be that. `passed` are variables of the step that uses its
    action.
    """
    environment = table(step.get("env"))
    names = (*filled_in({name: written(value) for name, value in environment.items()}), *passed)
    key = key_of_model(names)
    any_key = key or next((name for name in names if name.endswith("_API_KEY")), None)
    if any_key is None:
        return None
    for run in _runs(step, inputs):
        if key or run.program in _OTHER_AGENTS or _is_called_as_one(run):
            return run.words, any_key
    return None


@dataclass(slots=True)
class KeysOfJobs:
    """The keys of models in the environment of whole jobs, and the programs that get them with all else there.

    Named are those that look as if they ask a model, else the first one; but an agent that is known and has the key is
    the reason for it.
    """

    _waiting: list[_GivenKey] = field(default_factory=list)
    _explained: set[tuple[str, Route]] = field(default_factory=set)

    def explain(self, variables: Iterable[Variable]) -> None:
        """Takes variables as those of an agent that is named otherwise."""
        self._explained.update(map(_line, variables))

    def add(
        self,
        tree: Tree,
        document: Document,
        at: Route,
        inputs: Mapping[str, str],
        before: Sequence[Mapping[str, object]],
        variables: Mapping[str, Variable],
    ) -> None:
        """Adds the programs of the step at a place, which gets `variables` of all around it."""
        known = filled_in({name: each.value for name, each in variables.items()})
        keys = [variables[name] for name in known if key_of_model([name])]
        step = table(Place(document, at).data)
        if not keys:
            return
        if "run" not in step:
            words = texts_of_step(step)
            self.explain(each for each in keys if re.search(rf"\benv\.{re.escape(each.name)}\b", words))
        lines = tuple(map(_line, keys))
        folder = _folder(document, at, step)
        for run in _runs(step, inputs):
            program = _text_of(tree, run, folder, before)
            is_likely = run.program in _OTHER_AGENTS or _is_called_as_one(run)
            is_likely = is_likely or (program is not None and _asks_a_model(run.program, program, keys))
            if is_likely or program is not None:
                place = document.key(*at, "run")
                self._waiting.append(_GivenKey(document, place, run.words, lines, keys[0].name, is_likely))

    def notes(self) -> Iterator[tuple[Document, Diagnostic]]:
        """The notes about programs that may be agents, each with the file that runs it."""
        for each in sorted(self._waiting, key=lambda each: not each.is_likely):
            if each.is_likely or self._explained.isdisjoint(each.keys):
                self._explained.update(each.keys)
                yield each.document, unknown_note(each.at, each.words, each.key, "")


def _line(variable: Variable) -> tuple[str, Route]:
    return variable.at.document.source.path, variable.at.route


def _runs(step: Mapping[str, object], inputs: Mapping[str, str]) -> Iterator[_Run]:
    """The runs of other agents and of programs of the repository in a step, all that may be agents."""
    folder = ""
    for words in commands(filled(text(step.get("run")), inputs)):
        if words[0] == "cd" and len(words) == 2:
            folder = posixpath.join(folder, words[1])
        is_interpreted = words[0] in _INTERPRETERS
        program = next((word for word in words[1:3] if is_interpreted and _SCRIPT.search(word)), words[0])
        is_own = _SCRIPT.search(program) is not None and _OF_GH_AW not in program
        if program in _OTHER_AGENTS or is_own:
            yield _Run(" ".join(words[: words.index(program) + 1]), program, folder)


def _text_of(tree: Tree, run: _Run, folder: str, before: Sequence[Mapping[str, object]]) -> str | None:
    """The text of a program of the repository; None for one that is not among its files."""
    for inner in dict.fromkeys((run.folder, "")):
        path = in_checkout(posixpath.join(folder, inner, run.program), before)
        for file in (path, f"{path}/main.go"):
            if not leaves(file) and (read := tree.read(file)):
                return read[0].text[:MAX_LENGTH]
    return None


def _is_called_as_one(run: _Run) -> bool:
    return LIKE_AN_AGENT.search(run.program.rpartition("/")[2]) is not None


def _asks_a_model(path: str, program: str, keys: Iterable[Variable]) -> bool:
    """Whether the text of a program names a key, or asks a model: of a shell only a command counts."""
    if any(each.name in program for each in keys):
        return True
    if not path.endswith(OF_A_SHELL):
        return _OF_MODELS.search(program) is not None
    is_known = next(agents_in({"run": program}, {}), None) is not None
    return is_known or any(words[0] in _OTHER_AGENTS for words in commands(program))


def _folder(document: Document, at: Route, step: Mapping[str, object]) -> str:
    """The folder in which the script of a step runs."""
    around = (at[:2], ()) if at[:1] == ("jobs",) else ()
    usual = (table(Place(document, (*each, "defaults", "run")).data) for each in around)
    return next(filter(None, (text(each.get("working-directory")) for each in (step, *usual))), "")


def filled_in(variables: Mapping[str, str]) -> Iterator[str]:
    """The variables with a value that may be a key: a word written for tests is none, but where a model needs none."""
    is_own = any(value and _OWN_MODEL.fullmatch(name) for name, value in variables.items())
    for name, value in variables.items():
        is_key = "$" in value or (len(value) >= _LEAST_OF_A_KEY and not _STANDS_IN.search(value))
        if value and (is_key or is_own):
            yield name


def key_of_model(names: Iterable[str]) -> str | None:
    """The first variable that holds the key of a model, by its name."""
    return next(filter(_MODEL_KEY.fullmatch, names), None)


def unknown_note(at: Location, program: str, key: str, other: str) -> Diagnostic:
    """The note about a program with a model's key, which a step may have given the name of another."""
    what = f"`{excerpt(other, MAX_NAME)}` by another name, a program" if other else "a program"
    known = f"`{excerpt(program, MAX_NAME)}` has a model's key (`{key}`)"
    hint = "what it can do is what its own code, its token and its environment let it"
    message = f"{known} and is {what} that is not known: it may be an agent"
    if program in _OTHER_AGENTS and not other:
        message = f"{known} and the name of an agent whose runs in workflows are not read"
    return finding("LDO154", at, message, hint=hint)
