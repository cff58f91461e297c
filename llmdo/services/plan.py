"""A run that may take place: what runs, in which workspace, from which entry, and what its caller says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.runtime import RunOptions, RunOutcome
    from llmdo.services.basis import Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run that begins, goes on, or is repeated: which of them it is, its journal and its mode say."""

    basis: Basis
    root: Path
    entry: str
    options: RunOptions

    def saying(self, **options: object) -> RunPlan:
        """The same with these options of `RunOptions`, by name, in place of its own."""
        return replace(self, options=replace(self.options, **options))  # type: ignore[arg-type]

    def require_consent(self) -> None:
        """Nothing, where somebody has answered for all that it would execute.

        The run asks as well, and nothing passes that. A person is asked here: before anything is drawn around the
        question, and outside the event loop, which waits for nobody. What is granted is not asked about again.

        Raises:
            UntrustedError: Nobody has.
        """
        from llmdo.runtime import consented  # which takes a second

        consented(self.basis.graph, self.root, replace(self.options, code=self.basis.code))

    async def outcome(self) -> RunOutcome:
        """How it ended.

        Raises:
            UntrustedError: It would execute what nobody has answered for.
            LlmdoError: It cannot begin; nothing was asked of a model.
        """
        from llmdo.runtime import run

        options = replace(self.options, code=self.basis.code)
        basis = self.basis
        return await run(
            basis.graph, root=self.root, prompts=basis.prompts, entry=self.entry, options=options
        )
