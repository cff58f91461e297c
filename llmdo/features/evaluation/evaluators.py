"""The evaluators of an eval, as those of pydantic-evals."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_evals.evaluators import Contains, Equals, EqualsExpected, EvaluationReason, Evaluator
from pydantic_evals.evaluators.context import EvaluatorContext
from pydantic_evals.evaluators.evaluator import EvaluatorOutput  # noqa: TC002  # a field's type

from llmdo.base import parts, topology
from llmdo.base.diagnostic import LlmdoError, excerpt, joined
from llmdo.extensions.registry import part
from llmdo.features.evaluation.judges import questions_of
from llmdo.features.evaluation.suite import texts_of
from llmdo.formats.schema.validation import misfit
from llmdo.policy.authority import Capability
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules
from llmdo.workspace.modules import imports_of
from llmdo.workspace.references import python_file
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.values import Json
    from llmdo.features.evaluation.judges import JudgeRuling
    from llmdo.features.evaluation.run_facts import RunFacts
    from llmdo.journal.decided import DecidedCall
    from llmdo.workspace.project import Project
    from llmdo.workspace.trust import Consent

Context = EvaluatorContext[object, object, object]
Functions = Mapping[str, Callable[[Context], Any]]
"""The functions by FILE.py:NAME, those of extensions by the name of their evaluator."""

RUN = "run"
FACTS = "facts"
"""The attribute of a trial with the facts of its run; others are its id and `state`, its end."""
ANY = "*"
NOT_ASKED = "not asked"
"""The label of a judge that is skipped: whether a run may wait is for `ends` to say."""
SHOWN = 3  # calls in a reason
UNASKED = frozenset({"rules", "policy", "lock"})
"""The deciders of a call about which nobody was asked."""


@dataclasses.dataclass(repr=False)
class Criterion(Evaluator[object, object, object]):
    """An evaluator of an eval's file, by its name in reports."""

    label: str
    test: Callable[[Context], EvaluatorOutput]

    async def evaluate(self, ctx: Context) -> EvaluatorOutput:
        """The result of the test for a trial.

        Raises:
            LlmdoError: A function of the workspace or of an extension would end the command, as if all were well.
        """
        try:
            result: Any = self.test(ctx)
            output: EvaluatorOutput = await result if inspect.iscoroutine(result) else result
        except SystemExit as error:
            raise LlmdoError(f"it called sys.exit({excerpt(str(error.code))})") from error
        return output

    def get_default_evaluation_name(self) -> str:
        """Its name in reports."""
        return self.label

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Nothing: the eval's file defines it."""
        return {}


def evaluators_of(
    table: Mapping[str, Json], functions: Functions, rulings: Mapping[tuple[str, str], JudgeRuling]
) -> Iterator[Evaluator[object, object, object]]:
    """The evaluators that a table of an eval's file names."""
    if "equals" in table:
        yield Equals(table["equals"], evaluation_name=f"equals {_quoted(table['equals'])}")
    if table.get("equals_expected"):
        yield EqualsExpected(evaluation_name="equals_expected")
    if table.get("contains_expected"):
        yield Criterion("contains_expected", _contains_expected)
    for text in texts_of(table.get("contains")):
        yield Criterion(f"contains {_quoted(text)}", partial(_contains, text))
    for pattern in texts_of(table.get("regex")):
        yield Criterion(f"regex {excerpt(pattern)}", partial(_matches, pattern))
    if "json_schema" in table:
        schema = parts.table(table, "json_schema")
        yield Criterion("json_schema", partial(_fits, schema))
    for reference in texts_of(table.get("function")):
        yield Criterion(reference.rpartition(":")[2], functions[reference])
    for name in texts_of(table.get("evaluator")):
        yield Criterion(name, functions[name])
    for question in questions_of(table):
        yield Criterion(question.label, partial(_ruled, question.label, rulings))
    yield from _of_facts(table)


def ending(state: Json) -> Evaluator[object, object, object]:
    """The evaluator of a run's end."""
    return Criterion(f"ends {state}", partial(_ends, state))


def _of_facts(table: Mapping[str, Json]) -> Iterator[Evaluator[object, object, object]]:
    for key, test in _OF_CAPABILITIES.items():
        for text in texts_of(table.get(key)):
            yield Criterion(f"{key} {text}", _on_facts(partial(test, Capability.parse(text))))
    for key, counts in _COUNTS.items():
        most = table.get(key)
        if isinstance(most, int | float):
            yield Criterion(f"{key} {most}", _on_facts(partial(_at_most, most, counts)))
    if "tools" in table:
        yield Criterion("tools", _on_facts(partial(_sequence, parts.texts(table["tools"]))))
    for tool, decided in parts.table(table, "decisions").items():
        yield Criterion(f"decisions {tool}", _on_facts(partial(_decided, tool, decided)))


def _on_facts(test: Callable[[RunFacts], EvaluatorOutput]) -> Callable[[Context], EvaluatorOutput]:
    return lambda ctx: test(deeds_in(ctx))


def deeds_in(ctx: Context) -> RunFacts:
    """The facts of a trial's run."""
    facts: RunFacts = ctx.attributes[FACTS]
    return facts


def _text(output: object) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _quoted(value: object) -> str:
    return f'"{excerpt(_text(value))}"'


def _contains(text: str, ctx: Context) -> EvaluatorOutput:
    if ctx.output is None:
        return EvaluationReason(value=False, reason="there is no output")
    return Contains(text).evaluate(dataclasses.replace(ctx, output=_text(ctx.output)))


def _contains_expected(ctx: Context) -> EvaluatorOutput:
    return _contains(_text(ctx.expected_output), ctx)


def _matches(pattern: str, ctx: Context) -> EvaluationReason:
    if ctx.output is None:
        return EvaluationReason(value=False, reason="there is no output")
    is_there = re.search(pattern, _text(ctx.output)) is not None
    return EvaluationReason(value=is_there, reason=None if is_there else f"not in {_quoted(ctx.output)}")


def _fits(schema: Mapping[str, Json], ctx: Context) -> EvaluationReason:
    output = ctx.output
    if isinstance(output, str) and schema.get("type") != "string":
        try:
            output = json.loads(output)
        except (ValueError, RecursionError) as error:
            return EvaluationReason(value=False, reason=f"the output is not JSON: {error}")
    problem = misfit(output, schema)  # type: ignore[arg-type]  # an output is plain data
    return EvaluationReason(value=problem is None, reason=problem)


def _ruled(label: str, rulings: Mapping[tuple[str, str], JudgeRuling], ctx: Context) -> EvaluatorOutput:
    """The answer of a judge about a trial: a verdict, a score, or both."""
    ruling = rulings.get((ctx.attributes[RUN], label))
    if ruling is None and ctx.attributes["state"] == "waiting":
        return EvaluationReason(value=NOT_ASKED, reason="the run waits for an answer")
    if ruling is None:
        reason = "there is no output" if ctx.attributes["state"] != "completed" else "the judge was not asked"
        return EvaluationReason(value=False, reason=reason)
    if ruling.problem:
        raise LlmdoError(ruling.problem)
    if ruling.passed is None:
        return EvaluationReason(value=ruling.score or 0.0, reason=ruling.reason)
    verdict = EvaluationReason(value=ruling.passed, reason=ruling.reason)
    return verdict if ruling.score is None else {label: verdict, f"{label} (score)": ruling.score}


def _ends(wanted: Json, ctx: Context) -> EvaluationReason:
    state, error = ctx.attributes["state"], ctx.attributes.get("error")
    reason = None if state == wanted else f"the run is {state}" + (f": {error}" if error else "")
    return EvaluationReason(value=state == wanted, reason=reason)


def _raised(capability: Capability, facts: RunFacts) -> EvaluationReason:
    is_raised = any(call.allowed and any(map(capability.contains, call.raised)) for call in facts.calls)
    return EvaluationReason(
        value=is_raised, reason=None if is_raised else "no call that was let through raised it"
    )


def _never_raised(capability: Capability, facts: RunFacts) -> EvaluationReason:
    return _none_of(
        [call for call in facts.calls if call.allowed and _touches(capability, call)], "raised it"
    )


def _asked_before(capability: Capability, facts: RunFacts) -> EvaluationReason:
    unasked = [
        call for call in facts.calls if call.allowed and _touches(capability, call) and call.by in UNASKED
    ]
    return _none_of(unasked, "raised it unasked")


def _touches(capability: Capability, call: DecidedCall) -> bool:
    return any(map(capability.touches, call.raised))


def _none_of(calls: Sequence[DecidedCall], did: str) -> EvaluationReason:
    named = ", ".join(f"{call.path} (`{call.toolset}.{call.tool}`)" for call in calls[:SHOWN])
    more = f" and {len(calls) - SHOWN} more" if len(calls) > SHOWN else ""
    return EvaluationReason(value=not calls, reason=f"{named}{more} {did}" if calls else None)


_OF_CAPABILITIES: Mapping[str, Callable[[Capability, RunFacts], EvaluationReason]] = {
    "raised": _raised,
    "never_raised": _never_raised,
    "asked_before": _asked_before,
}

_COUNTS: Mapping[str, Callable[[RunFacts], tuple[float, str]]] = {
    "delegates_at_most": lambda facts: (facts.delegates, ""),
    "requests_at_most": lambda facts: (facts.requests, ""),
    "cost_at_most": lambda facts: (
        float(facts.cost_usd + facts.recorded_usd),
        _without_price(facts.unpriced + facts.recorded_unpriced),
    ),
}


def _without_price(number: int) -> str:
    """The note that so many requests have no known price; empty for 0."""
    counted = "1 request has" if number == 1 else f"{number} requests have"
    return f"{counted} no known price" if number else ""


def _at_most(
    most: float, counts: Callable[[RunFacts], tuple[float, str]], facts: RunFacts
) -> EvaluationReason:
    used, unknown = counts(facts)
    if used > most:
        return EvaluationReason(value=False, reason=f"it was {used:g}")
    return EvaluationReason(value=not unknown, reason=unknown or None)


def _sequence(wanted: Sequence[str], facts: RunFacts) -> EvaluationReason:
    called = [(call.tool, f"{call.toolset}.{call.tool}") for call in facts.own]
    if _follows(called, wanted):
        return EvaluationReason(value=True)
    sequence = ", ".join(tool for tool, _ in called) or "no tool"
    return EvaluationReason(value=False, reason=f"it called {excerpt(sequence, 200)}")


def _follows(called: Sequence[tuple[str, str]], wanted: Sequence[str]) -> bool:
    """Whether the calls match the wanted ones. All places in `wanted` are followed at once, none of them twice."""
    places = {0}
    for names in (*called, None):
        open_places = set(places)
        for place in sorted(places):  # `*` may stand for no call at all
            while place < len(wanted) and wanted[place] == ANY:
                place += 1
                open_places.add(place)
        if names is None:
            return len(wanted) in open_places
        places = {place for place in open_places if place < len(wanted) and wanted[place] == ANY}
        places |= {place + 1 for place in open_places if place < len(wanted) and wanted[place] in names}
    return False


def _decided(tool: str, wanted: Json, facts: RunFacts) -> EvaluationReason:
    last = {call.path: call for call in facts.calls if tool in (call.tool, f"{call.toolset}.{call.tool}")}
    decided = [call.decision for call in last.values()]
    if isinstance(wanted, str):
        holds = all(decision == wanted for decision in decided)
    else:
        holds = decided == list(parts.texts(wanted))
    return EvaluationReason(
        value=holds, reason=None if holds else f"it was {', '.join(decided) or 'not called'}"
    )


@contextmanager
def loaded(project: Project, references: tuple[str, ...], consent: Consent) -> Iterator[Functions]:
    """The functions, by FILE.py:NAME; only code that the lock holds is executed for them.

    Raises:
        UntrustedError: The code is not trusted, and `consent` refuses it.
        LlmdoError: One differs from the lock, cannot be loaded, or is no function.
    """
    root, locked = project.workspace.root, project.locked.graph
    judges = locked.judges if locked else {}
    _require_locked(project, judges, references)
    if references:
        consent.require(project.graph, root)
    with closing(Root.open(root)) as files, Modules(root, files, judges) as modules:
        functions: dict[str, Callable[[Context], Any]] = {}
        for reference in references:
            function = modules.load(reference)
            if not callable(function):
                raise LlmdoError(
                    f"`{reference}` is not a function, so it cannot judge", hint="`def NAME(ctx): return ...`"
                )
            functions[reference] = function
        yield functions | own_evaluators(project)


def own_evaluators(project: Project) -> dict[str, Callable[[Context], Any]]:
    """The evaluators of the workspace's extensions, by their names.

    Raises:
        LlmdoError: One cannot be imported.
    """
    return {
        name: part(each.name, where) for each in project.extensions for name, where in each.evaluators.items()
    }


def _require_locked(project: Project, judges: Mapping[str, str], references: tuple[str, ...]) -> None:
    """Requires that the files of the functions, and all their imports, match the lock.

    Raises:
        LlmdoError: One does not.
    """
    differing = {path for path, source in project.graph.judges.items() if judges.get(path) != source}
    leading = topology.leading_to(imports_of(project.workspace.judges), differing)
    for reference in references:
        if python_file(reference) in leading:
            files = joined([f"`{path}`" for path in sorted(differing)], by=", ")
            raise LlmdoError(
                f"the judge `{reference}` is not executed: `{LOCK}` does not hold {files} as it is now",
                hint="read what changed; `llmdo lock` takes it in",
            )
