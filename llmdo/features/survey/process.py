"""The process that scans one project: the request on its standard input, the result on its output, both as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from llmdo.base.jsonable import record
from llmdo.features.survey.listed import ListedProject
from llmdo.features.survey.surveyed import SurveyedProject, survey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = 600
"""The time for one project: the largest takes a twentieth of it."""

_REPORT = "that is a mistake of llmdo, and not of the project: please report it"


def surveyed(
    listed: ListedProject, fail_on: tuple[str, ...], program: Sequence[str] = (), seconds: float = SECONDS
) -> SurveyedProject:
    """The result of a process for a project; whatever ends the process is a sentence about the project."""
    command = program or (sys.executable, "-P", "-m", __name__)
    request = json.dumps({"listed": record(listed), "fail_on": fail_on})
    try:
        done = subprocess.run(
            command, input=request.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return SurveyedProject(
            listed=listed, problem=f"its scan did not end within {seconds:,.0f} seconds", hint=_REPORT
        )
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if lines else f"its process ended with {done.returncode}"
        return SurveyedProject(listed=listed, problem=f"its scan failed: {reason}", hint=_REPORT)
    answer = json.loads(done.stdout)
    return SurveyedProject(**{**answer, "listed": listed, **_frozen(answer)})


def _frozen(answer: Mapping[str, Sequence[Sequence[object]]]) -> dict[str, object]:
    return {
        "formats": tuple(answer["formats"]),
        "unasked": tuple(answer["unasked"]),
        "kinds": tuple(tuple(each) for each in answer["kinds"]),
    }


def main() -> None:
    """Scans the project of the request."""
    request = json.load(sys.stdin)
    result = survey(ListedProject(**request["listed"]), tuple(request["fail_on"]))
    json.dump(record(result), sys.stdout)


if __name__ == "__main__":
    main()
