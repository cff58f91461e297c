"""The formats for other programs: each well-formed for whatever a file holds."""

from __future__ import annotations

import json
import re
from typing import Any, get_args
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.codes import CODES
from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.checks import documentation
from llmdo.cli.tables import COMMANDS
from llmdo.render.formats import FOR_PEOPLE, Format, rendered
from llmdo.render.github import MAX_SUMMARY, step_summary
from llmdo.render.report import Report
from tests.support.laws import tried

from .reports import HOSTILE, TYPICAL, at, report
from .sarif import SCHEMA

MACHINE: tuple[Format, ...] = tuple(form for form in get_args(Format) if form not in FOR_PEOPLE)
FAILED = Report(error=LlmdoError(HOSTILE, hint=HOSTILE))


def test_the_names_of_the_formats_are_the_same_everywhere() -> None:
    assert get_args(Format) == COMMANDS["check"]["--format"]


def parsed(form: Format, text: str) -> Any:
    """What a reader of the format makes of `text`; fails where it is not well-formed."""
    text.encode("utf-8")
    if form == "junit":
        return ElementTree.fromstring(text)
    if form == "github":
        commands = text.split("\n")
        assert commands.pop() == ""
        return [re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line) for line in commands]
    return json.loads(text)


@pytest.mark.parametrize("form", MACHINE)
@pytest.mark.parametrize(
    "shown_report", [report(), report(*TYPICAL), FAILED], ids=["clean", "typical", "failed"]
)
def test_every_report_is_well_formed_and_shows_nothing_raw(form: Format, shown_report: Report) -> None:
    text = rendered(shown_report, form)
    assert None not in (parsed(form, text) or ())
    assert all(character == "\n" or character.isprintable() for character in text)


@tried(40)
@given(words=st.text(min_size=1, max_size=20))
def test_any_message_path_and_hint_is_well_formed(words: str) -> None:
    diagnostic = finding("LDO103", at(f"a{words}", 1, 1, 1, 2), words, hint=words)
    for form in MACHINE:
        assert None not in parsed(form, rendered(report(diagnostic), form))
    jsonschema.validate(json.loads(rendered(report(diagnostic), "sarif")), SCHEMA)


def test_json_says_where_and_how_to_mend_it() -> None:
    document = json.loads(rendered(report(*TYPICAL), "json"))
    assert (document["schema"], document["status"]) == ("llmdo.check/1", "findings")
    assert document["findings"][2] == {
        "code": "LDO202",
        "name": "unknown-toolset",
        "severity": "error",
        "path": "workers/ä b.worker",
        "line": 3,
        "column": 5,
        "end_line": 3,
        "end_column": 8,
        "message": "`main` uses `clc`, which is neither a toolset nor a worker",
        "hint": "did you mean `calc`?",
        "related": [
            {
                "path": "tools/calc.py",
                "line": 7,
                "column": 1,
                "end_line": 9,
                "end_column": 4,
                "message": "`calc` is here",
            }
        ],
        "fix": {
            "path": "workers/ä b.worker",
            "line": 3,
            "column": 5,
            "end_line": 3,
            "end_column": 8,
            "before": "clc",
            "text": "calc",
            "safe": True,
        },
    }


def test_json_without_findings_is_clean_and_without_a_workspace_an_error() -> None:
    assert json.loads(rendered(report(), "json"))["status"] == "clean"
    failed = json.loads(rendered(Report(error=LlmdoError("no", hint="do")), "json"))
    assert (failed["status"], failed["error"]) == ("error", {"message": "no", "hint": "do"})


def test_github_puts_errors_first_and_escapes_what_would_end_a_command() -> None:
    lines = rendered(report(*TYPICAL, folder="agents/x,y:z/"), "github").split("\n")
    assert lines[0] == (
        "::error file=agents/x%2Cy%3Az/workers/ä b.worker,line=3,col=5,endLine=3,endColumn=8,"
        "title=LDO202 unknown-toolset::`main` uses `clc`, which is neither a toolset nor a worker"
        "%0Ahint: did you mean `calc`?%0Aagents/x,y:z/tools/calc.py:7:1: `calc` is here"
    )
    assert lines[1].startswith(
        "::error file=agents/x%2Cy%3Az/llmdo.toml,line=9,endLine=12,title=LDO103 invalid-value::a%25\\u{d}%0A::error"
    )
    assert lines[2].startswith("::warning file=")
    assert lines[3].startswith("::notice file=agents/x%2Cy%3Az/llmdo.lock,title=LDO402 missing-lock::")


def test_the_step_summary_is_a_table_that_obeys_nothing_in_it() -> None:
    text = step_summary(report(*TYPICAL, folder="agents/"))
    assert "2 errors, 1 warning, 1 note." in text
    rows = [line for line in text.split("\n") if line.startswith("|")][2:]
    assert len(rows) == len(TYPICAL)
    for row in rows:
        assert row.count("|") == 4
        assert set(re.findall(r"<[^>]*>", row)) <= {"<code>", "</code>", "<br>"}
        assert not re.search(r"[\[\]*_`@#!](?!\d)", re.sub("`[\\w .:/>()*#+,-]+`", "", row))
    assert "agents/workers/ä b.worker&#58;3&#58;5" in rows[2]
    assert "`clc`" in rows[2]
    assert step_summary(report()) == "## llmdo check\n\nNo findings.\n\n"
    assert "Could not check" in step_summary(FAILED)


def test_the_step_summary_stays_below_what_github_takes() -> None:
    many = [finding("LDO103", at("a", 1, 1, 1, 2), f"{number} " + "x" * 1_000) for number in range(2_000)]
    text = step_summary(report(*many))
    assert MAX_SUMMARY // 2 < len(text) < MAX_SUMMARY + 1_000
    assert "more are in the log" in text


def test_gitlab_knows_a_finding_again_when_its_line_moved() -> None:
    def issues(line: int) -> list[dict[str, Any]]:
        twice = [finding("LDO103", at("a", line + number, 1, line, 2), "wrong") for number in range(2)]
        other = finding("LDO103", at("b", line, 1, line, 2), "wrong")
        reported: list[dict[str, Any]] = json.loads(rendered(report(*twice, other), "gitlab"))
        return reported

    original, moved = issues(3), issues(30)
    assert [issue["fingerprint"] for issue in original] == [issue["fingerprint"] for issue in moved]
    assert len({issue["fingerprint"] for issue in original}) == 3
    assert [issue["location"]["lines"]["begin"] for issue in moved] == [30, 31, 30]
    in_folder = json.loads(rendered(report(finding("LDO103", at("a"), "wrong"), folder="x/"), "gitlab"))
    assert in_folder[0]["location"] == {"path": "x/a", "lines": {"begin": 1}}
    assert in_folder[0]["fingerprint"] not in {issue["fingerprint"] for issue in original}


def test_gitlab_has_a_severity_for_each_of_ours() -> None:
    issues = json.loads(rendered(report(*TYPICAL), "gitlab"))
    assert [issue["severity"] for issue in issues] == ["info", "minor", "major", "major"]
    (failed,) = json.loads(rendered(FAILED, "gitlab"))
    assert failed["severity"] == "blocker"
    assert set(failed) == set(issues[0])


def test_junit_counts_the_files_in_which_nothing_was_found() -> None:
    files = ("llmdo.toml", "workers/fine.worker", "llmdo.lock")
    suite = ElementTree.fromstring(rendered(report(*TYPICAL, files=files), "junit"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "0")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases["workers/fine.worker"]) == []
    assert [part.tag for part in cases["llmdo.toml"]] == ["failure", "system-out"]
    failure = cases["workers/ä b.worker"].find("failure")
    assert failure is not None
    assert failure.get("type") == "LDO202"
    assert "did you mean `calc`?" in (failure.text or "")
    assert [part.tag for part in cases["llmdo.lock"]] == ["system-out"]


def test_junit_fails_for_a_warning_where_the_check_does() -> None:
    strict = ElementTree.fromstring(rendered(report(TYPICAL[1], strict=True), "junit"))
    assert strict.get("failures") == "1"
    assert ElementTree.fromstring(rendered(report(TYPICAL[1]), "junit")).get("failures") == "0"


def test_junit_without_a_workspace_is_one_error() -> None:
    suite = ElementTree.fromstring(rendered(FAILED, "junit"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")


@pytest.mark.parametrize("shown_report", [report(), report(*TYPICAL, folder="a b/"), FAILED])
def test_sarif_is_what_its_specification_says(shown_report: Report) -> None:
    jsonschema.validate(json.loads(rendered(shown_report, "sarif")), SCHEMA)


def test_sarif_names_every_rule_and_places_every_result() -> None:
    (run,) = json.loads(rendered(report(*TYPICAL, folder="a#b/"), "sarif"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [(rule["id"], rule["name"]) for rule in rules] == [
        (code, name) for code, (name, _) in CODES.items()
    ]
    assert rules[0]["help"]["text"] == documentation("LDO101")
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    whole, _, placed, several = run["results"]
    assert whole["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%23b/llmdo.lock", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 1},
    }
    place = placed["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%23b/workers/%C3%A4%20b.worker"
    assert place["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 8}
    assert placed["relatedLocations"][0]["message"] == {"text": "`calc` is here"}
    assert placed["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": "calc"}
    assert "\\](http://e) {{0}}" in several["message"]["text"]
    assert (run["columnKind"], run["invocations"]) == ("unicodeCodePoints", [{"executionSuccessful": True}])


def test_sarif_of_a_check_that_could_not_be_made_has_no_results_that_would_close_alerts() -> None:
    (run,) = json.loads(rendered(FAILED, "sarif"))["runs"]
    assert "results" not in run
    assert run["invocations"][0]["executionSuccessful"] is False
