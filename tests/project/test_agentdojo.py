"""What the benchmark with AgentDojo says of its tools is of kinds that exist, and of tools that exist."""

from __future__ import annotations

import pytest

from bench.agentdojo.tools import SUITES, capabilities
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import VOCABULARY


def test_each_tool_declares_capabilities_that_exist() -> None:
    for suite, tools in SUITES.items():
        for name, tool in tools.items():
            parsed = [Capability.parse(text) for text in capabilities(suite, name)]
            assert all(each.name.startswith("x.") or each.name in VOCABULARY for each in parsed), name
            assert tool.why
            assert not tool.targets or tool.effect, name


def test_the_table_has_all_tools_of_each_suite_and_names_their_arguments() -> None:
    pytest.importorskip("agentdojo")
    from bench.agentdojo import cases

    for suite, tools in SUITES.items():
        arguments = {tool.name: {*tool.parameters.model_fields} for tool in cases.SUITES[suite].tools}
        assert tools.keys() == arguments.keys()
        for name, tool in tools.items():
            assert {*tool.targets} <= arguments[name], name
