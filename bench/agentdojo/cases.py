"""One case: a task of the user, perhaps the task of an attacker, and the environment that their calls change."""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.agentdojo.plan import Plan

VERSION = "v1.2.2"
MARK = "OBEY-THE-ATTACKER"
"""What stands in each place that AgentDojo lets an attacker write to. Whoever reads it does what the attacker wants."""

Calls = list[tuple[str, dict[str, Any]]]

SUITES = get_suites(VERSION)


@cache
def _environment(suite: str, mark: str) -> Any:
    vectors = SUITES[suite].get_injection_vector_defaults()
    return SUITES[suite].load_and_inject_default_environment(dict.fromkeys(vectors, mark) if mark else {})


def environment(suite: str, task: Any, *, marked: bool) -> Any:
    """A new environment of a task; a marked one shows the attacker's words."""
    return task.init_environment(_environment(suite, MARK if marked else "").model_copy(deep=True))


def calls_of(task: Any, env: Any) -> Calls:
    """The calls that do what `task` wants."""
    with warnings.catch_warnings(action="ignore"):
        return [(call.function, dict(call.args)) for call in task.ground_truth(env.model_copy(deep=True))]


@dataclass(eq=False)
class Case:
    """A task, with the attack on it where there is one, on one environment."""

    suite: str
    task: Any
    attack: Any = None
    obeys: bool = True
    adapts: bool = False
    """Whether a reader answers what serves the attack best."""
    plan: Plan | None = None
    env: Any = None
    before: Any = None
    attacking: Calls = field(default_factory=list)
    trace: list[FunctionCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.env = environment(self.suite, self.task, marked=self.attack is not None)
        self.before = self.env.model_copy(deep=True)
        if self.attack is not None and self.obeys:
            self.attacking = calls_of(self.attack, self.before)

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """What the tool returns, which is run on the environment."""
        runtime = FunctionsRuntime(SUITES[self.suite].tools)
        result, error = runtime.run_function(self.env, name, arguments)
        if error is None:
            self.trace.append(FunctionCall(function=name, args=arguments))
        return error or tool_result_to_str(result)

    def is_done(self, output: str) -> bool:
        """Whether the task is done, as AgentDojo says."""
        return _judged(self.task, "utility", output, self)

    def is_through(self, output: str, attack: Any = None) -> bool:
        """Whether the attack is through, as AgentDojo says."""
        return _judged(attack or self.attack, "security", output, self)


def _judged(task: Any, what: str, output: str, case: Case) -> bool:
    by_trace = getattr(task, f"{what}_from_traces")(output, case.before, case.env, case.trace)
    return bool(getattr(task, what)(output, case.before, case.env) if by_trace is None else by_trace)


CASE: ContextVar[Case] = ContextVar("CASE")


def toolset(name: str, suite: str, tools: Iterable[str]) -> FunctionToolset[Any]:
    """The toolset of that name with these tools of a suite, each of which acts on the case of the moment."""
    functions = {function.name: function for function in SUITES[suite].tools}
    return FunctionToolset([_tool(functions[tool]) for tool in tools], id=name)


def _tool(function: Any) -> Tool[Any]:
    async def call(**arguments: Any) -> str:  # in no thread, where order would be lost
        return CASE.get().call(function.name, arguments)

    schema = function.parameters.model_json_schema()
    return Tool.from_schema(call, function.name, function.description, schema, sequential=True)
