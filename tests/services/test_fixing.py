"""`check --fix`: what is certain is fixed, nothing else changes, and no permission is given."""

from __future__ import annotations

import os
import random
import re
from itertools import combinations, product
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.diagnostic import Fix, LlmdoError
from llmdo.base.values import replace
from llmdo.diff import diff
from llmdo.graph.resolved import Graph
from llmdo.policy.authority import STRICTNESS, Authority, Capability, Rule, base_rules, decide
from llmdo.policy.vocabulary import VOCABULARY, Decision
from llmdo.services import fixing, locking
from llmdo.workspace import lock as lockfile
from llmdo.workspace import project
from tests.checks.test_cases import copied

HEAD = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "test"\n'
MAIN = "---\nname: main\nentry: true\n---\nGo.\n"


def workspace(root: Path, manifest: str = HEAD, **workers: str) -> Path:
    (root / "llmdo.toml").write_bytes(manifest.encode())
    for name, text in {"main": MAIN, **workers}.items():
        (root / f"{name}.worker").write_bytes(text.encode())
    return root


def fixed(root: Path) -> list[str]:
    return [sentence for sentence in fixing.fix(root) if sentence.startswith("fixed ")]


def codes(root: Path) -> set[str]:
    return {finding.code for finding in checks.check(project.read(root))}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (HEAD.replace("workers =", "wokers ="), HEAD),
        (HEAD.replace("workers =", '"wokers" ='), HEAD.replace("workers =", '"workers" =')),
        (HEAD.replace("[workspace]", "[worspace]"), HEAD),
        (HEAD + '[entries.x]\nworkr = "main"\n', HEAD + '[entries.x]\nworker = "main"\n'),
        (HEAD + '[entries.x]\nworker = "mian"\n', HEAD + '[entries.x]\nworker = "main"\n'),
        (
            HEAD + '[entries.x]\nworker = "main"\nmaay = []\n',
            HEAD + '[entries.x]\nworker = "main"\nmay = []\n',
        ),
        (
            HEAD + '[approvals.rules]\n"fs.wrte:a/**" = "needs_approval"\n"proc.exce" = "blocked"\n',
            HEAD + '[approvals.rules]\n"fs.write:a/**" = "needs_approval"\n"proc.exec" = "blocked"\n',
        ),
        (
            HEAD + '[entries.x]\nworker = "main"\napprovals = { "fs.wrte" = "needs_approval" }\n',
            HEAD + '[entries.x]\nworker = "main"\napprovals = { "fs.write" = "needs_approval" }\n',
        ),
    ],
)
def test_a_misspelt_key_name_or_strict_rule_of_the_manifest_is_mended(
    written: str, meant: str, tmp_path: Path
) -> None:
    root = workspace(tmp_path, written)
    assert fixed(root)
    assert (root / "llmdo.toml").read_text(encoding="utf-8") == meant
    assert not codes(root) & {"LDO102", "LDO203", "LDO207"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("toolsts: [filesystem]", "toolsets: [filesystem]"),
        ("toolsets: [filesytem]", "toolsets: [filesystem]"),
        ('toolsets: ["filesytem", othr]', 'toolsets: ["filesystem", other]'),
        ("toolsets:\n  filesytem: {}", "toolsets:\n  filesystem: {}"),
        ("model: fsat", "model: fast"),
        ("modle: fast", "model: fast"),
        ("approvals: { fs.lst: needs_approval }", "approvals: { fs.list: needs_approval }"),
        ("toolsets: { filesystem: { raed: [a] } }", "toolsets: { filesystem: { read: [a] } }"),
    ],
)
def test_a_misspelt_key_or_name_of_a_worker_is_mended(written: str, meant: str, tmp_path: Path) -> None:
    text = "---\nname: main\nentry: true\n{}  # why\n---\nGo.\n"
    other = "---\nname: other\n---\nGo.\n"
    manifest = HEAD + '[models]\nfast = "openai:gpt-5-mini"\n'
    root = workspace(tmp_path, manifest, main=text.format(written), other=other)
    assert fixed(root)
    assert (root / "main.worker").read_text(encoding="utf-8") == text.format(meant)
    assert not codes(root) & {"LDO102", "LDO202", "LDO204", "LDO207"}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + '[approvals.rules]\n"fs.wrte" = "allowed"\n',
        HEAD + '[approvals]\ndefualt = "allowed"\n',
        HEAD + '[aprovals]\ndefault = "allowed"\n',
        HEAD + '[approvals]\nruels = { "fs.write" = "allowed" }\n',
        HEAD + '[approvals]\ndefault = "blocked"\n[approvals.rules]\n"fs.wrte" = "needs_approval"\n',
        HEAD + '[approvals.rules]\n"proc.exec.unlistd" = "needs_approval"\n',
        HEAD + '[entries.x]\nworker = "main"\nmay = ["fs.raed"]\n',
        HEAD.replace("model =", "max-dept = 50\nmodel ="),
        HEAD + '[tolsets.calc]\npython = "calc.py:tools"\ncapabilities = { "*" = [] }\n',
        HEAD + '[[check.acept]]\ncode = "LDO510"\nreason = "x"\n',
        HEAD + '[check]\nignroe = ["LDO111"]\n',
    ],
)
def test_an_edit_that_could_give_permission_is_left_to_people(text: str, tmp_path: Path) -> None:
    root = workspace(tmp_path, text)
    assert codes(root) & {"LDO102", "LDO207"}
    assert fixed(root) == []
    assert (root / "llmdo.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "line",
    [
        "recursve: true",
        "enty: true",
        "toolsets: { filesystem: { wrte: ['**'] } }",
        "approvals: { fs.lst: allowed }",
        "may: [fs.raed]",
    ],
)
def test_a_worker_is_given_nothing_either(line: str, tmp_path: Path) -> None:
    text = f"---\nname: main\n{line}\n---\nGo.\n"
    root = workspace(tmp_path, main=text)
    assert codes(root) & {"LDO102", "LDO207"}
    assert fixed(root) == []


@pytest.mark.parametrize(
    "text",
    [
        HEAD + 'wrkers = "x"\n[workspac]\n',  # the right table is there already
        HEAD + '[entries.x]\nworker = "ab"\n',  # two workers are near
        HEAD.replace("model =", "modl = 'a'\nmodel ="),  # the right key is there already
        HEAD.replace("workers =", r'"wo\u006bers" ='),  # not spelt out
        HEAD + '[entris.a]\nworker = "main"\n[entris.b]\nworker = "main"\n',  # a table in two parts
    ],
)
def test_what_is_not_certain_is_left_alone(text: str, tmp_path: Path) -> None:
    near = {name: f"---\nname: {name}\n---\nGo.\n" for name in ("abc", "abd")}
    root = workspace(tmp_path, text, **near)
    assert fixed(root) == []
    assert (root / "llmdo.toml").read_text(encoding="utf-8") == text


def test_all_other_bytes_of_a_file_stay(tmp_path: Path) -> None:
    text = "\ufeff---\r\nname: main  # ü\r\nentry: true\r\ntoolsets:\r\n    -   filesytem\t \r\n---\r\nGo,\n\r\n \r!"
    root = workspace(tmp_path, main=text)
    (root / "main.worker").chmod(0o640)
    assert fixed(root) == ["fixed main.worker:5:9: `filesytem` is `filesystem` now"]
    assert (root / "main.worker").read_bytes() == text.replace("filesytem", "filesystem").encode()
    assert (root / "main.worker").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in root.iterdir()) == ["llmdo.toml", "main.worker"]


def test_what_one_edit_uncovers_is_mended_in_the_next_round(tmp_path: Path) -> None:
    main = "---\nname: main\nentry: true\ntoolsts: [filesytem]\n---\nGo.\n"
    root = workspace(tmp_path, HEAD.replace("workers", "wokers"), main=main)
    assert [re.sub(":.*`", "", sentence) for sentence in fixed(root)] == [
        "fixed llmdo.toml now",
        "fixed main.worker now",
        "fixed main.worker now",
    ]
    assert "toolsets: [filesystem]" in (root / "main.worker").read_text(encoding="utf-8")


def test_a_link_in_the_place_of_a_file_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside.worker"
    outside.write_text("---\nname: main\ntoolsts: []\n---\n", encoding="utf-8")
    root = tmp_path / "w"
    root.mkdir()
    workspace(root)
    (root / "main.worker").unlink()
    (root / "main.worker").symlink_to(outside)
    before = outside.read_bytes()
    assert fixed(root) == []
    assert outside.read_bytes() == before


def locked(root: Path) -> None:
    read = project.read(root)
    lockfile.write(root, locking.derive(read))


def test_a_stale_lock_is_written_anew_and_it_is_said_before(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    locked(root)
    (root / "main.worker").write_text(MAIN.replace("Go", "Went"), encoding="utf-8")
    assert codes(root) == {"LDO401"}
    sentences = fixing.fix(root)
    assert "imports toolset modules in a child process" in next(sentences)
    assert codes(root) == {"LDO401"}
    assert list(sentences) == ["wrote llmdo.lock (worker main): reach is the same"]
    assert codes(root) == set()


def test_what_llmdo_lock_alone_takes_in_is_left_to_it(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    locked(root)
    path = root / "llmdo.lock"
    path.write_text(re.sub("built-in-rules = .*", "built-in-rules = 1", path.read_text(encoding="utf-8")))
    before = path.read_bytes()
    assert list(fixing.fix(root))[1:] == [
        "llmdo.lock stays as it is: `llmdo lock` alone takes in the built-in rules of this llmdo"
    ]
    assert path.read_bytes() == before


def test_a_stale_lock_stays_where_anything_else_is_wrong(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    locked(root)
    (root / "main.worker").write_text(MAIN.replace("entry", "enty: 1\nentry"), encoding="utf-8")
    before = (root / "llmdo.lock").read_bytes()
    assert list(fixing.fix(root)) == []
    assert (root / "llmdo.lock").read_bytes() == before


def test_a_missing_lock_is_not_made(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    assert list(fixing.fix(root)) == []
    assert not (root / "llmdo.lock").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    root = workspace(tmp_path, HEAD.replace("workers", "wokers"))
    root.chmod(0o500)
    try:
        with pytest.raises(LlmdoError, match="cannot write"):
            list(fixing.fix(root))
    finally:
        root.chmod(0o700)


REPOSITORY = Path(__file__).parents[2]
MENDED = [
    *sorted(path for path in (REPOSITORY / "tests/cases").glob("*/*") if path.is_dir()),
    *sorted(path.parent for path in (REPOSITORY / "examples").glob("*/llmdo.toml")),
]


def governed(before: Graph, after: Graph) -> Graph:
    """The later team under all that governed the earlier one: who has a name or an edge now is judged as before."""
    entries, workers = dict(after.entries), dict(after.workers)
    for name, old in before.entries.items():
        if name in entries:
            entries[name] = replace(entries[name], may=old.may, approvals=old.approvals, limits=old.limits)
    for name, worker in before.workers.items():
        if name in workers:
            workers[name] = replace(
                workers[name],
                may=worker.may,
                approvals=worker.approvals,
                attachments=worker.attachments,
                recursive=worker.recursive,
            )
    return replace(
        after,
        settings=before.settings,
        rules=before.rules,
        policies=before.policies,
        shell=before.shell,
        notify=before.notify,
        paths=before.paths,
        acceptances=before.acceptances,
        entries=entries,
        workers=workers,
    )


def loosening(root: Path) -> list[str]:
    """The safe edits of a workspace after which something may be done, or is not asked about, that was before."""
    before = project.read(root)
    loosened = []
    for finding in checks.reported(before, checks.check(before)):
        if not (finding.fix and finding.fix.safe):
            continue
        path = root / finding.fix.at.path
        content = path.read_bytes()
        assert fixing._apply(root, finding.fix.at.path, [finding.fix])
        after = project.read(root)
        is_wider = diff(governed(before.graph, after.graph), after.graph).verdict == "widened"
        path.write_bytes(content)
        if is_wider:
            loosened.append(f"{finding.message}: {finding.fix.before} -> {finding.fix.text}")
    return loosened


@pytest.mark.few(3)
@pytest.mark.parametrize("folder", MENDED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_safe_edit_of_a_case_loosens_anything(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    copied(folder, root)
    assert loosening(root) == []


@pytest.mark.few(3)
@pytest.mark.parametrize("folder", MENDED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_safe_edit_of_a_misspelt_key_or_name_loosens_anything(folder: Path, tmp_path: Path) -> None:
    """Of every word of every file in turn, with a letter left out."""
    root = tmp_path / "w"
    copied(folder, root)
    rng = random.Random(folder.name)
    for path in [root / "llmdo.toml", *sorted(root.rglob("*.worker"))]:
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        text = content.decode("utf-8", "replace")
        head = text if path.suffix == ".toml" else "---".join(text.split("---", 2)[:2])
        words = list(re.finditer(r"[a-z][a-z_-]{3,}(?=[\w.\"-]*\"?\s*[]:=.])", head))
        for word in rng.sample(words, min(len(words), 6)):
            at = word.start() + rng.randrange(1, len(word[0]))
            path.write_text(text[:at] + text[at + 1 :], encoding="utf-8")
            assert loosening(root) == [], text[word.start() : word.end()]
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.worker", "---\nname: main\nentry: true\nattachmnts: { max: 500 }\n---\nGo.\n"),
        (
            "main.worker",
            "---\nname: main\nentry: true\ntoolsts: { filesystem: { write: ['**'] } }\n---\nGo.\n",
        ),
        ("llmdo.toml", HEAD.replace("[workspace]", "[worspace]") + "max-depth = 50\n"),
        ("llmdo.toml", HEAD.replace("[workspace]", "[worspace]") + 'root = "files"\n'),
        ("llmdo.toml", HEAD.replace("[workspace]", "[worspace]") + '[approvals]\ndefault = "allowed"\n'),
        (
            "llmdo.toml",
            HEAD + '[approvals]\ndefault = "allowed"\n[approvals.rules]\n"fs.raed:**" = "allowed"\n',
        ),
    ],
)
def test_an_edit_with_more_in_it_than_can_be_seen_to_be_safe_is_left_alone(
    name: str, text: str, tmp_path: Path
) -> None:
    root = workspace(tmp_path)
    (root / name).write_text(text, encoding="utf-8")
    assert fixed(root) == []


@pytest.mark.parametrize("name", ["fs.read", "fs.read.protected", "fs.write.protected", "fs.list"])
@pytest.mark.parametrize("decision", ["allowed", "needs_approval", "blocked"])
@pytest.mark.parametrize("default", ["allowed", "needs_approval", "blocked"])
def test_everywhere_and_no_scope_are_one_thing_to_rules(
    name: str, decision: str, default: str, tmp_path: Path
) -> None:
    main = (
        '---\nname: main\nentry: true\ntoolsets: { filesystem: { read: ["**"], write: ["**"] } }\n---\nGo.\n'
    )
    rows = []
    for number, scope in enumerate(("", ":**")):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = (
            f'{HEAD}[approvals]\ndefault = "{default}"\n[approvals.rules]\n"{name}{scope}" = "{decision}"\n'
        )
        read = project.read(workspace(folder, text, main=main))
        [entry] = read.graph.entries.values()
        rows.append({(str(row.capability), row.decision) for row in read.analysis.of(entry)})
        loosened = decision == "allowed" and name.endswith("protected")
        assert (
            any(name in problem.message for problem in checks.check(read) if problem.code == "LDO505")
            == loosened
        )
    assert rows[0] == rows[1]


POINTS = [
    Capability(name, scope)
    for name in VOCABULARY
    for scope in ([None, "a/b", "a/**", "**"] if name.startswith("fs") else [None])
]
OTHERS = [
    (Capability("fs"), "blocked"),
    (Capability("fs.write", "a/**"), "allowed"),
    (Capability("proc"), "needs_approval"),
    (Capability("net.connect"), "blocked"),
]


def loosens(rule: Rule, place: str, default: Decision) -> bool:
    """Whether anything may be done by this rule that was not before, beside any other rules: by trying all."""
    for number in range(len(OTHERS) + 1):
        for others in combinations([Rule(*other, "llmdo.toml") for other in OTHERS], number):
            before = Authority(base=base_rules(others), default=default, layers=(), ceilings=())
            after = replace(before, base=base_rules((*others, rule)))
            if place != "manifest":
                after = replace(before, layers=(rule,))
            for point in POINTS:
                was, now = (decide([point], [point], each).decision for each in (before, after))
                if STRICTNESS[now] < STRICTNESS[was]:
                    return True
    return False


def fix_of(root: Path, name: str, decision: str, place: str, default: str) -> Fix:
    """The fix of a rule whose capability lacks its last letter but one."""
    rule = f'"{name[:-2] + name[-1]}" = "{decision}"'
    manifest = f'{HEAD}[approvals]\ndefault = "{default}"\n'
    if place == "manifest":
        manifest += f"[approvals.rules]\n{rule}\n"
    elif place == "entry":
        manifest += f'[entries.x]\nworker = "main"\napprovals = {{ {rule} }}\n'
    main = MAIN.replace("entry:", f"approvals: {{ {rule.replace(' =', ':')} }}\nentry:")
    read = project.read(workspace(root, manifest, main=main if place == "worker" else MAIN))
    [fix] = [finding.fix for finding in checks.check(read) if finding.fix]
    return fix


@pytest.mark.parametrize("place", ["manifest", "entry", "worker"])
@pytest.mark.parametrize("default", ["allowed", "needs_approval", "blocked"])
def test_an_edit_of_a_rule_is_safe_exactly_where_it_loosens_nothing_beside_any_rules(
    place: str, default: Decision, tmp_path: Path
) -> None:
    names = ["fs.write", "fs.read", "proc.exec.unlisted", "net.connect", "fs.write.code", "fs.list"]
    alike = ["blocked"] if default == "blocked" else ["allowed", "needs_approval"]
    for number, (name, decision) in enumerate(product(names, ["needs_approval", "blocked"])):
        (root := tmp_path / str(number)).mkdir()
        fix = fix_of(root, name, decision, place, default)
        rule = Rule(Capability(name), decision, place)
        assert fix.safe == (not any(loosens(rule, place, each) for each in alike)), (name, decision)
    (root := tmp_path / "allowed").mkdir()
    assert not fix_of(root, "fs.write", "allowed", place, default).safe, "permission is given by people"
