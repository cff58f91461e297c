"""What is kept and shown of an item that is over holds no secret, and stays what a program can read."""

from __future__ import annotations

import json

import pytest

from llmdo.features.batch.item_run import result_of
from llmdo.runtime import RunOutcome, Usage
from llmdo.runtime.telemetry.redaction import Redaction

USED = Usage(requests=1, tool_calls=0, input_tokens=None, output_tokens=None, cost_usd=None)


@pytest.mark.parametrize("output", ["31415926535", '{"pin": 31415926535}', '"say 31415926535"'])
def test_a_typed_output_that_holds_a_secret_stays_data(output: str) -> None:
    outcome = RunOutcome(
        run="r1", entry="main", status="completed", output=output, reached=None, error=None, is_typed=True,
        hint="it was 31415926535", usage=USED, usage_by_worker={}, denied=(),
    )  # fmt: skip
    result = result_of(outcome, Redaction.of({"ACME_API_KEY": "31415926535"}))
    assert "31415926535" not in json.dumps(result.output) + (result.hint or "")
    assert "[redacted ACME_API_KEY]" in json.dumps(result.output)
