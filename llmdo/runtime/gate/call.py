"""A call of a tool as it is decided on: its capabilities, derived from the tool that will run, and its refusal."""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed

from llmdo.graph import builtin
from llmdo.journal.decided import DecidedCall
from llmdo.policy.authority import Capability, Carried
from llmdo.policy.protection import declared_by_change, is_change, raised_by_change
from llmdo.policy.vocabulary import UNDECLARED, facts_of
from llmdo.toolsets.paths import WORKSPACE, PathRefused, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Use
    from llmdo.policy.vocabulary import Decision
    from llmdo.runtime.labels import Labels
    from llmdo.toolsets.confinement import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool, with the facts for its decision."""

    path: str
    toolset: str
    tool: str
    arguments: Mapping[str, Any]
    """Decided on, shown and executed; the tool gets the same values in a dict of its own."""
    raised: tuple[Capability, ...]
    declared: tuple[Capability, ...]
    config: Mapping[str, object] = field(default_factory=dict)
    """The configuration of the toolset."""
    labels: Labels = field(default_factory=dict)
    """The labels of flow rules that its caller has read, each with the place at which it came in."""
    brought: Labels = field(default_factory=dict)
    """The labels of the sealed texts anywhere in its arguments."""
    sends: bool = True
    """Whether it sends anything out."""
    asks: str | None = None
    """Why a person is asked whatever the rules say; None if only the rules decide."""
    fault: str | None = None
    """The toolset's fault, if that is why `raised` says `capability.undeclared`."""

    @property
    def carried(self) -> Carried:
        """The facts that flow rules ask for."""
        return Carried(frozenset(self.labels), sends=self.sends)

    def decided(
        self,
        *,
        worker: str,
        decision: Decision,
        allowed: bool,
        by: str,
        reasons: tuple[str, ...],
        refusal: str | None = None,
    ) -> DecidedCall:
        """The decision on this call of `worker`."""
        return DecidedCall(
            path=self.path,
            worker=worker,
            toolset=self.toolset,
            tool=self.tool,
            arguments=self.arguments,
            raised=self.raised,
            declared=self.declared,
            labels=tuple(sorted(map(str, {*self.labels, *self.brought}))),
            asks=self.asks is not None,
            decision=decision,
            allowed=allowed,
            by=by,
            reasons=reasons,
            refusal=refusal,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The gate's leave for one call."""

    call: Call
    """The call that runs: the one decided on, or a person's change of it."""
    is_live: bool
    """Whether it was just decided on, so that it may run; otherwise only its recorded end may be told."""


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing changeable with `values`.

    Raises:
        Exception: Any error of copy methods of the workspace's types.
    """
    is_flat = all(type(value) in _UNCHANGING for value in values.values())
    return {**values} if is_flat else deepcopy({**values})


_SETS = (list, tuple, set, frozenset)
_UNCHANGING = frozenset({bool, int, float, str, bytes, NoneType})


class Refused(ToolFailed):
    """The gate's own no, as told to the calling model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call of one tool, before its arguments are settled."""

    path: str
    """The call path."""
    name: str
    """The tool's name for the model."""
    tool: ToolsetTool[object]
    use: Use
    toolset: AbstractToolset[object]
    declared: Tool | None
    """None if the graph has no such tool."""
    ctx: RunContext[object]
    governing: frozenset[str]
    """Paths and globs of the files that govern the run."""
    files: Root
    """The folder for tools."""
    labels: Labels = field(default_factory=dict)
    """The labels under which it is chosen."""
    brought: Labels = field(default_factory=dict)
    """The labels of the sealed texts in its arguments."""
    targets: frozenset[str] | None = None
    """The arguments that say to whom or on which object it acts; None if nobody says, so that each may."""
    sends: bool = True
    """Whether it sends anything out."""
    sealed: tuple[str, ...] = ()
    """Targets that are a sealed text."""
    asks: str | None = None
    """Why a person is asked whatever the rules say."""

    def draft(self, arguments: Mapping[str, Any], asks: str | None = None) -> Call:
        """The call with these arguments, as if it raised all declared capabilities; `asks` precedes its own."""
        declared = self.declared.capabilities if self.declared else ()
        return Call(
            path=self.path,
            toolset=self.use.name,
            tool=self.name,
            arguments=arguments,
            raised=declared,
            declared=declared,
            labels=self.labels,
            brought=self.brought,
            sends=self.sends,
            config=copied(self.use.config),
            asks=asks or self.asks,
        )

    async def derived(self, call: Call) -> Call:
        """`call` with the capabilities that its arguments raise."""
        raised, fault = call.declared, self._drift(call.declared)
        narrows = self.declared is not None and self.declared.hook
        hook = getattr(self.toolset, "get_capabilities", None) if narrows else None
        if fault is None and hook is not None:
            raised, fault = await self._narrowed(hook, call.arguments)
        raised = (Capability(UNDECLARED),) if fault else raised
        is_same = raised == call.raised and fault == call.fault
        return call if is_same else replace(call, raised=raised, fault=fault)

    async def changed(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Other arguments, validated as the model's are.

        Raises:
            ValidationError: The tool does not take them; ModelRetry likewise.
        """
        taken = self._validated(arguments)
        if self.tool.args_validator_func is not None:
            try:
                verdict = self.tool.args_validator_func(self.ctx, **taken)
                if inspect.isawaitable(verdict):
                    await verdict
            except (ApprovalRequired, CallDeferred):
                pass  # the arguments are valid, and a person is asked about them anyway
        return frozen(self.name, taken)

    def fault_of(self, arguments: Mapping[str, object]) -> str | None:
        """The fault of other arguments, as far as the tool's schema tells."""
        try:
            self._validated(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc'])) or 'the arguments'}: {first['msg']}"
        return None

    def _validated(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        taken: dict[str, Any] = self.tool.args_validator.validate_python(
            dict(arguments), context=self.ctx.validation_context
        )
        return taken

    def _drift(self, declared: tuple[Capability, ...]) -> str | None:
        """The live tool's difference from the declared one, if any."""
        if self.declared is None:
            return f"the tool `{self.name}` of `{self.use.name}` is not declared"
        live = (self.tool.tool_def.metadata or {}).get("capabilities", ())
        if not isinstance(live, _SETS):
            return f"the metadata of `{self.name}` does not list capabilities"
        for name in live:
            if not isinstance(name, str) or not any(
                most.contains(Capability.parse(name)) for most in declared
            ):
                return f"the metadata of `{self.name}` names `{name}`, which is not declared"
        return None

    async def _narrowed(
        self, hook: Callable[..., object], arguments: Mapping[str, Any]
    ) -> tuple[tuple[Capability, ...], str | None]:
        """The capabilities of this one call by the toolset's hook, or the fault of its answer."""
        try:
            # Copies: whatever a hook does to them, what was decided on is what runs.
            answer = hook(self.name, copied(arguments), self.ctx, copied(self.use.config))
            if not isinstance(answer, _SETS) and inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # from the workspace's own code: anything at all
            return (), f"get_capabilities of `{self.use.name}` raised {type(error).__name__}"
        if not isinstance(answer, _SETS):
            return (), f"get_capabilities of `{self.use.name}` did not return a set"
        named = [Capability.parse(raised) if isinstance(raised, str) else raised for raised in answer]
        if not all(isinstance(raised, Capability) for raised in named):
            return (), f"get_capabilities of `{self.use.name}` returned something that is not a capability"
        normal = {_normal(raised) for raised in named}
        if self.use.name not in builtin.NAMES:  # whose own hooks know more, such as the content
            normal.update(*map(self._changed, named))
        return tuple(sorted(normal, key=str)), None

    def _changed(self, raised: Capability) -> Iterable[Capability]:
        """Further capabilities of a change of the file that `raised` names.

        None for a folder or no scope: the toolset's author has stated those.
        """
        if not is_change(raised) or raised.scope is None or raised.scope.endswith("**"):
            return ()
        scope = _normal(raised).scope
        if scope is None:  # a path that leads anywhere
            return declared_by_change(None)
        if scope == WORKSPACE or self.files.kind(scope) == "folder":  # with all that is in it
            return raised_by_change("**" if scope == WORKSPACE else f"{scope}/**", self.governing)
        return raised_by_change(scope, self.governing, is_executed=self.files.is_executable(scope))


def frozen(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """An unshared copy of `arguments`.

    Raises:
        Refused: They cannot be copied.
    """
    try:
        return copied(arguments)
    except Exception as error:  # from the copy methods of the workspace's own types
        raise Refused(f"`{name}` is blocked: its arguments cannot be copied") from error


def _normal(raised: Capability) -> Capability:
    """`raised` with its scope as in rules; of unknown scope if that is no path of the workspace."""
    if raised.scope is None:
        return raised
    try:
        return Capability(raised.name, normalise(raised.scope))
    except PathRefused:
        return Capability(raised.name)


_FEW = 5  # scopes in a sentence


def outside_of(call: Call) -> str | None:
    """The declared scopes of the tool, and the part of the call outside them; None without such scopes."""
    for raised in call.raised:
        if any(most.contains(raised) for most in call.declared):
            continue
        if scopes := _scopes(raised, call.declared):
            what = f"`{call.tool}` may {_verb(raised)} {_listed(scopes)}"
            if call.toolset == call.tool:  # a worker, which is handed files
                what = f"`{call.tool}` may be handed {_listed(scopes)}"
            return f"{what}; {_subject(raised)} lies outside"
    return None


def _scopes(raised: Capability, declared: Iterable[Capability]) -> list[str]:
    """The scopes within which the tool declares the capability `raised`."""
    return sorted(
        {each.scope for each in declared if each.covers_name(raised.name) and each.scope is not None}
    )


def _verb(raised: Capability) -> str:
    facts = facts_of(raised.name)
    return facts.verb if facts and facts.verb else f"do `{raised.name}` in"


def _subject(raised: Capability) -> str:
    if raised.scope is None or raised.scope == "**":
        return "the whole folder"
    return f"`{raised.scope}`"


def _listed(scopes: list[str]) -> str:
    more = f" and {len(scopes) - _FEW} more" if len(scopes) > _FEW else ""
    return f"{', '.join(f'`{scope}`' for scope in scopes[:_FEW])}{more}"
