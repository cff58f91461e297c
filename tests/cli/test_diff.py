"""`llmdo diff` in real git repositories."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo

SAMPLE = Path(__file__).parent.parent / "data/locks/v1r1.lock"

FILES = {
    "llmdo.toml": """\
schema = 1

[workspace]
name = "deputy"
workers = ["workers/*.worker"]

[approvals.rules]
"fs.write:out/**" = "allowed"

[entries.publish]
worker = "publisher"

[entries.triage]
worker = "triage"
""",
    "workers/publisher.worker": (
        '---\nname: publisher\ntoolsets:\n  filesystem: { read: [], write: ["out/**"] }\n'
        "attachments: { max: 0 }\n---\nPublish.\n"
    ),
    "workers/triage.worker": ("---\nname: triage\ntoolsets:\n  helper: {}\n---\nSort.\n"),
    "workers/helper.worker": "---\nname: helper\nattachments: { max: 0 }\n---\nHelp.\n",
}


def git(root: Path, *words: str) -> str:
    own = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *own, *words], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def team(tmp_path: Path, llmdo: Llmdo) -> Path:
    """A workspace in a folder of a repository, its lock committed."""
    root = tmp_path / "repository/team"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    assert llmdo("lock", cwd=root).code == 0
    git(root.parent, "init", "-q")
    commit(root, "start")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A", ".")
    git(root, "commit", "-qm", message)


def let_triage_publish(root: Path, llmdo: Llmdo) -> None:
    edit(root / "workers/triage.worker", "  helper: {}\n", "  helper: {}\n  publisher: {}\n")
    assert llmdo("lock", cwd=root).code == 0


WIDENED = """\
triage: WIDENED
  + fs.write:out/**             allowed without approval   triage > publisher > filesystem
      workers/triage.worker:5:3      triage delegates to publisher
      workers/publisher.worker:4:3   publisher uses filesystem
  + fs.write.protected:out/**   needs approval             triage > publisher > filesystem
      workers/triage.worker:5:3      triage delegates to publisher
      workers/publisher.worker:4:3   publisher uses filesystem
  + fs.write.code:out/**        needs approval             triage > publisher > filesystem
      workers/triage.worker:5:3      triage delegates to publisher
      workers/publisher.worker:4:3   publisher uses filesystem
publish: same
also:
  ~ worker `triage` `delegates`: +`publisher` (reached by `triage`)
verdict: widened
"""


@pytest.mark.long
def test_a_new_delegate_shows_what_it_lets_the_entry_do_and_where(team: Path, llmdo: Llmdo) -> None:
    assert llmdo("diff", cwd=team).out == "publish: same\ntriage: same\nverdict: same\n"
    let_triage_publish(team, llmdo)
    done = llmdo("diff", cwd=team)
    assert (done.code, done.out, done.err) == (0, WIDENED, "")
    assert llmdo("diff", "--fail-on", "widened", cwd=team).code == 1
    commit(team, "let triage publish")
    assert llmdo("diff", "HEAD~1", "HEAD", cwd=team).out.startswith("triage: WIDENED")
    assert llmdo("diff", "HEAD", "HEAD~1", cwd=team).out.startswith("triage: narrowed\n  - fs.write")
    assert llmdo("diff", "HEAD", "HEAD~1", "--fail-on", "widened", cwd=team).code == 0
    assert llmdo("diff", "HEAD", "HEAD~1", "--fail-on", "changed", cwd=team).code == 1


def test_an_accepted_widening_does_not_fail(team: Path, llmdo: Llmdo) -> None:
    with (team / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        for name in ("fs.write", "fs.write.code", "fs.write.protected"):
            manifest.write(
                f'\n[[check.accept]]\ncapability = "{name}:out/**"\nentry = "triage"\nreason = "reviewed"\n'
            )
    let_triage_publish(team, llmdo)
    done = llmdo("diff", "--fail-on", "widened", cwd=team)
    assert done.code == 0
    assert "accepted: reviewed" in done.out
    assert done.out.endswith("verdict: widened, all of it accepted\n")


def test_the_sources_are_judged_also_where_the_lock_is_behind_them(
    team: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(team / "workers/triage.worker", "  helper: {}\n", "  helper: {}\n  publisher: {}\n")
    for ci in ("", "1"):
        monkeypatch.setenv("CI", ci)
        done = llmdo("diff", "HEAD", "--fail-on", "widened", cwd=team)
        assert (done.code, done.out) == (1, WIDENED)
        assert done.err.startswith("note: `llmdo.lock` is not what the sources say")


FACTORY = """\
from pydantic_ai import FunctionToolset


def make():
    tools = FunctionToolset()

    @tools.tool_plain(metadata={"capabilities": [CAPABILITIES]})
    def refund(order: str) -> str:
        \"\"\"Refund an order.\"\"\"
        return order

    return tools


orders = make()
"""


@pytest.fixture
def shop(team: Path, llmdo: Llmdo) -> Path:
    """The team, with a toolset of which only importing its module tells what its tools are, locked and committed."""
    (team / "tools").mkdir()
    (team / "tools/orders.py").write_text(
        FACTORY.replace("CAPABILITIES", '"data.untrusted"'), encoding="utf-8"
    )
    with (team / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[toolsets.orders]\npython = "tools/orders.py:orders"\n')
    edit(team / "workers/helper.worker", "name: helper\n", "name: helper\ntoolsets: [orders]\n")
    assert llmdo("lock", cwd=team).code == 0
    commit(team, "sell things")
    return team


def test_what_only_an_import_tells_is_unknown_and_never_the_same(shop: Path, llmdo: Llmdo) -> None:
    assert llmdo("diff", cwd=shop).out.endswith("verdict: same\n")
    for capabilities in ('"data.untrusted", "net.connect"', ""):
        text = FACTORY.replace("CAPABILITIES", capabilities)
        (shop / "tools/orders.py").write_text(text, encoding="utf-8")
        for fail_on in ("widened", "changed"):
            done = llmdo("diff", "--fail-on", fail_on, cwd=shop)
            assert done.code == 2
            assert "triage: unknown\n  ? x.orders.any" in done.out
            assert done.out.endswith("verdict: unknown\n")
            assert "`llmdo lock`" in done.err
        assert llmdo("diff", cwd=shop).code == 0
        assert llmdo("lock", cwd=shop).code == 0
        assert llmdo("diff", "--fail-on", "widened", cwd=shop).code == 1


def test_a_declaration_that_is_no_plain_text_is_unknown(shop: Path, llmdo: Llmdo) -> None:
    text = (
        "from pydantic_ai import FunctionToolset\n\nWIDE = ['net.connect']\norders = FunctionToolset()\n\n\n"
        "@orders.tool_plain(metadata={'capabilities': WIDE})\ndef refund(order: str) -> str:\n    return order\n"
    )
    (shop / "tools/orders.py").write_text(text, encoding="utf-8")
    done = llmdo("diff", "--fail-on", "widened", cwd=shop)
    assert (done.code, done.out.splitlines()[-1]) == (2, "verdict: unknown")


def test_what_widened_counts_for_more_than_what_is_unknown(shop: Path, llmdo: Llmdo) -> None:
    (shop / "tools/orders.py").write_text(FACTORY.replace("CAPABILITIES", ""), encoding="utf-8")
    edit(shop / "workers/triage.worker", "  helper: {}\n", "  helper: {}\n  publisher: {}\n")
    done = llmdo("diff", "--fail-on", "widened", cwd=shop)
    assert done.code == 1
    assert "? x.orders.any" in done.out
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        for name in ("fs.write", "fs.write.code", "fs.write.protected"):
            manifest.write(
                f'\n[[check.accept]]\ncapability = "{name}:out/**"\nentry = "triage"\nreason = "reviewed"\n'
            )
    assert llmdo("diff", "--fail-on", "widened", cwd=shop).code == 2


def test_a_server_that_nobody_asked_is_unknown(team: Path, llmdo: Llmdo) -> None:
    with (team / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[toolsets.shop.mcp]\ncommand = "shop-server"\n')
    edit(team / "workers/helper.worker", "name: helper\n", "name: helper\ntoolsets: [shop]\n")
    done = llmdo("diff", "--fail-on", "changed", cwd=team)
    assert "? x.shop.any" in done.out
    assert "unknown (not known)" not in done.out
    reach = llmdo("reach", "triage", cwd=team)
    assert re.search(r"^  x\.shop\.any +unknown +", reach.out, re.MULTILINE)


def test_reach_shows_what_only_an_import_tells_as_unknown(shop: Path, llmdo: Llmdo) -> None:
    assert "data.untrusted" in llmdo("reach", "triage", cwd=shop).out
    (shop / "tools/orders.py").write_text(FACTORY.replace("CAPABILITIES", '"net"'), encoding="utf-8")
    done = llmdo("reach", "triage", cwd=shop)
    assert re.search(
        r"^  x\.orders\.any +unknown .*triage > helper > orders \(not known\)$", done.out, re.MULTILINE
    )
    assert "`orders`" in done.err
    assert "`llmdo lock`" in done.err
    [row] = [
        row
        for row in json.loads(llmdo("reach", "triage", "--format", "json", cwd=shop).out)["entries"][0][
            "rows"
        ]
        if row["capability"] == "x.orders.any"
    ]
    assert row["decision"] == "unknown"
    (shop / "llmdo.lock").unlink()
    assert "x.orders.any" in llmdo("reach", "triage", cwd=shop).out
    why = llmdo("why", "triage", "x.orders.any", cwd=shop).out
    assert "x.orders.any: not known" in why


def test_sources_that_cannot_be_read_are_unknown_and_never_narrowed(team: Path, llmdo: Llmdo) -> None:
    (team / "workers/publisher.worker").write_text(
        "---\nname: publisher\ntoolsets: [\n---\n", encoding="utf-8"
    )
    done = llmdo("diff", "--fail-on", "widened", cwd=team)
    assert (done.code, done.out.splitlines()[-1]) == (2, "verdict: unknown")
    assert "`llmdo check`" in done.err


def test_a_lock_of_the_past_that_disagrees_with_its_sources_is_reported(team: Path, llmdo: Llmdo) -> None:
    edit(team / "workers/triage.worker", "  helper: {}\n", "  helper: {}\n  publisher: {}\n")
    commit(team, "forget the lock")
    assert llmdo("lock", cwd=team).code == 0
    done = llmdo("diff", "HEAD", cwd=team)
    assert done.out == WIDENED
    assert "at `HEAD`, `llmdo.lock` is not what its sources say: worker `triage`" in done.err
    commit(team, "lock")
    assert llmdo("diff", "HEAD", cwd=team).err == ""
    done = llmdo("diff", "HEAD~1", "HEAD", cwd=team)
    assert "at `HEAD~1`, `llmdo.lock`" in done.err
    assert "at `HEAD`" not in done.err


def test_the_places_of_another_revision_are_in_its_lock(team: Path, llmdo: Llmdo) -> None:
    let_triage_publish(team, llmdo)
    commit(team, "let triage publish")
    assert re.search(
        r"^      llmdo\.lock:\d+:5 +triage delegates to publisher$",
        llmdo("diff", "HEAD~1", "HEAD", cwd=team).out,
        re.MULTILINE,
    )


def test_without_a_lock_there_everything_is_new(team: Path, llmdo: Llmdo) -> None:
    git(team, "rm", "-q", "--cached", "llmdo.lock")
    git(team, "commit", "-qm", "no lock")
    done = llmdo("diff", cwd=team)
    assert done.err == "no baseline: there is no `llmdo.lock` at `HEAD`, so everything is new\n"
    assert "publish: WIDENED (new)" in done.out
    assert json.loads(llmdo("diff", "--format", "json", cwd=team).out)["before"] is None
    assert "no baseline, so everything is new" in llmdo("diff", "--format", "markdown", cwd=team).out
    done = llmdo("diff", "HEAD~1", "HEAD", cwd=team)
    assert (done.code, done.err) == (2, "error: there is no `llmdo.lock` at `HEAD`\n")


def test_two_revisions_are_named_as_the_page_names_them(team: Path, llmdo: Llmdo) -> None:
    edit(team / "workers/triage.worker", "  helper: {}\n", "  helper: {}\n  publisher: {}\n")
    for sides in ("HEAD..worktree", "HEAD..", "..worktree", ".."):
        assert llmdo("diff", sides, cwd=team).out == WIDENED, sides
    assert llmdo("lock", cwd=team).code == 0
    commit(team, "let triage publish")
    assert llmdo("diff", "HEAD~1..HEAD", cwd=team).out.startswith("triage: WIDENED")
    assert llmdo("diff", "HEAD..HEAD~1", cwd=team).out.startswith("triage: narrowed")


@pytest.mark.long
def test_a_shallow_clone_and_a_worktree_are_enough(team: Path, tmp_path: Path, llmdo: Llmdo) -> None:
    let_triage_publish(team, llmdo)
    commit(team, "let triage publish")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{team.parent}", "shallow")
    shallow = tmp_path / "shallow/team"
    assert llmdo("diff", cwd=shallow).out.endswith("verdict: same\n")
    done = llmdo("diff", "HEAD~1", cwd=shallow)
    assert done.code == 2
    assert done.err.startswith(
        "error: there is no revision `HEAD~1` in this repository\n  hint: a shallow clone"
    )
    git(shallow, "fetch", "-q", "--depth", "2", "origin")
    assert "verdict: widened" in llmdo("diff", "origin/HEAD~1", cwd=shallow).out
    git(team, "worktree", "add", "-q", str(tmp_path / "other"), "HEAD~1")
    assert "verdict: narrowed" in llmdo("diff", "main", cwd=tmp_path / "other/team").out


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("nowhere", "there is no revision `nowhere` in this repository"),
        ("HEAD:team/llmdo.lock", "there is no revision `HEAD:team/llmdo.lock` in this repository"),
        ("main...main", "there is no revision `.main` in this repository"),
        ("a\nb", "`a\nb` is not a revision"),
        ("", "`` is not a revision"),
    ],
)
def test_a_revision_that_is_none_is_reported(team: Path, llmdo: Llmdo, revision: str, message: str) -> None:
    done = llmdo("diff", revision, cwd=team)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}\n")


def test_a_revision_is_never_an_option(team: Path, llmdo: Llmdo, tmp_path: Path) -> None:
    for word in ("--output=canary", "-p", "--git-dir=/"):
        done = llmdo("diff", "--", word, cwd=team)
        assert (done.code, done.err) == (2, f"error: `{word}` is not a revision\n")
    assert not (team / "canary").exists()


def test_without_git_without_a_repository_and_before_the_first_commit_it_says_so(
    team: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(team.parent, "update-ref", "-d", "HEAD")
    assert "hint: nothing was committed yet" in llmdo("diff", cwd=team).err
    (team.parent / ".git").rename(tmp_path / "gone")
    done = llmdo("diff", cwd=team)
    assert done.code == 2
    assert done.err.startswith("error: git cannot read this repository: not a git repository")
    monkeypatch.setenv("PATH", ".")
    done = llmdo("diff", "--format", "json", cwd=team)
    assert (done.code, json.loads(done.out)["status"]) == (2, "error")
    assert json.loads(done.out)["error"]["message"] == "git is not installed"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "folders", [[".", ""], ["{team}"], ["{team}/../team"], ["{team}/bin"], ["{linked}"], ["{top}"]]
)
def test_no_git_of_the_workspace_is_started(
    team: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders: list[str]
) -> None:
    (tmp_path / "outside").mkdir()
    for place in (team, team.parent, tmp_path / "outside"):
        (place / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\n", encoding="utf-8")
        (place / "git").chmod(0o755)
    (team / "bin").symlink_to(tmp_path / "outside")
    (tmp_path / "linked").symlink_to(team)
    named = [folder.format(team=team, linked=tmp_path / "linked", top=team.parent) for folder in folders]
    monkeypatch.setenv("PATH", os.pathsep.join([*named, os.environ["PATH"]]))
    assert llmdo("diff", cwd=team).code == 0
    assert llmdo("doctor", cwd=team).code in (0, 1)
    assert not (tmp_path / "canary").exists()


def test_a_hostile_repository_runs_nothing(team: Path, llmdo: Llmdo, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {canary}\n", encoding="utf-8")
    program.chmod(0o755)
    hooks = team.parent / ".git/hooks"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / hook).write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
        (hooks / hook).chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "diff.external",
        "core.alternateRefsCommand", "filter.x.smudge", "filter.x.clean", "filter.x.process", "gpg.program",
        "credential.helper", "diff.x.textconv", "pager.cat-file", "pager.ls-tree", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        git(team, "config", key, str(program))
    for name in ("rev-parse", "cat-file", "ls-tree"):
        git(team, "config", f"alias.{name}", f"!{program}")
    (team / ".gitattributes").write_text("* filter=x diff=x\n", encoding="utf-8")
    let_triage_publish(team, llmdo)
    assert llmdo("diff", cwd=team).out == WIDENED
    assert not canary.exists()


def test_a_tree_with_names_that_lead_elsewhere_writes_nothing_there(team: Path, llmdo: Llmdo) -> None:
    blob = bytes.fromhex(git(team, "rev-parse", "HEAD:./llmdo.toml"))
    names = [b"../../evil.toml", b"/tmp/llmdo-evil.toml", b"workers/publisher.worker/x.worker"]
    folder = subprocess.run(
        ["git", "cat-file", "tree", "HEAD:./"], cwd=team, capture_output=True, check=True
    ).stdout
    tree = folder + b"".join(b"100644 " + name + b"\0" + blob for name in names)
    hashing = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    made = (
        subprocess.run(hashing, cwd=team, input=tree, capture_output=True, check=True).stdout.decode().strip()
    )
    top = f"040000 tree {made}\tteam\n"
    root = subprocess.run(
        ["git", "mktree"], cwd=team, input=top.encode(), capture_output=True, check=True
    ).stdout
    commit_id = git(team, "commit-tree", root.decode().strip(), "-m", "evil")
    done = llmdo("diff", commit_id, cwd=team)
    assert "Traceback" not in done.err
    assert done.out.endswith("verdict: same\n")
    assert "cannot be read here" in done.err
    assert not Path("/tmp/llmdo-evil.toml").exists()


def test_a_missing_object_of_a_partial_clone_is_not_fetched(team: Path, llmdo: Llmdo, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    blob = git(team, "rev-parse", "HEAD:./llmdo.lock")
    commit_id = git(team, "rev-parse", "HEAD")
    git(team, "config", "extensions.partialClone", "origin")
    git(team, "config", "core.repositoryformatversion", "1")
    git(team, "config", "remote.origin.promisor", "true")
    git(team, "config", "remote.origin.url", f"ext::sh -c 'touch% {canary}'")
    git(team, "config", "protocol.ext.allow", "always")
    for name in (blob, commit_id):
        (team.parent / ".git/objects" / name[:2] / name[2:]).rename(tmp_path / "object")
        done = llmdo("diff", cwd=team)
        assert done.code == 2
        assert "Traceback" not in done.err
        assert not canary.exists()
        (tmp_path / "object").rename(team.parent / ".git/objects" / name[:2] / name[2:])


@pytest.mark.long
def test_git_that_does_not_answer_is_left(team: Path, llmdo: Llmdo) -> None:
    os.mkfifo(team.parent / "pipe")
    git(team, "config", "include.path", str(team.parent / "pipe"))
    done = llmdo("diff", cwd=team)
    assert (done.code, done.err) == (2, "error: git did not answer within 10 seconds\n")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<<<<<<< ours\nversion = 1\n", "holds the markers of a merge conflict"),
        ("version = 7\n", "has version 7, and this llmdo reads up to 1"),
        ("version = \n", "cannot be read"),
        ("\0", "`llmdo.lock`"),
    ],
)
def test_a_lock_that_cannot_be_read_is_reported_on_either_side(
    team: Path, llmdo: Llmdo, content: str, message: str
) -> None:
    good = (team / "llmdo.lock").read_text(encoding="utf-8")
    (team / "llmdo.lock").write_text(content, encoding="utf-8")
    done = llmdo("diff", cwd=team)
    assert done.code == 2
    assert message in done.err
    commit(team, "broken")
    (team / "llmdo.lock").write_text(good, encoding="utf-8")
    done = llmdo("diff", cwd=team)
    assert done.code == 2
    assert done.err.startswith("error: at `HEAD`: ")
    assert message in done.err
    assert "hint" in done.err


def test_a_lock_that_is_a_link_there_is_not_followed(team: Path, llmdo: Llmdo) -> None:
    good = (team / "llmdo.lock").read_bytes()
    (team / "llmdo.lock").unlink()
    (team / "llmdo.lock").symlink_to("../secret")
    commit(team, "link")
    (team / "llmdo.lock").unlink()
    (team / "llmdo.lock").write_bytes(good)
    assert llmdo("diff", cwd=team).err == "error: `llmdo.lock` at `HEAD` is not a regular file\n"


def test_without_a_lock_on_disk_the_sources_are_judged(team: Path, llmdo: Llmdo) -> None:
    (team / "llmdo.lock").unlink()
    done = llmdo("diff", cwd=team)
    assert (done.code, done.out.splitlines()[-1]) == (0, "verdict: same")
    assert done.err.startswith("note: there is no `llmdo.lock`; run `llmdo lock`")


def test_two_files_are_compared_without_git_and_without_a_workspace(llmdo: Llmdo, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "b").write_bytes(SAMPLE.read_bytes())
    assert llmdo("diff", "--locks", "a", "b").out.endswith("verdict: same\n")
    done = llmdo("diff", "--locks", "a", "c")
    message = f"error: there is no file `c` in `{tmp_path}`\n  hint: its path is relative to this folder\n"
    assert (done.code, done.err) == (2, message)
    assert llmdo("diff", "--locks", "a").code == 2


def test_a_lock_edited_by_hand_always_fails(llmdo: Llmdo, tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    (tmp_path / "a").write_text(text, encoding="utf-8")
    edited = text.replace('digest = "sha256:0fe26f48', 'digest = "sha256:00000000')
    assert edited != text
    (tmp_path / "b").write_text(edited, encoding="utf-8")
    done = llmdo("diff", "--locks", "a", "b")
    assert done.code == 1
    assert (
        "error: the lock was edited by hand: tool `factorial` of toolset `calc`: "
        "its description or parameters changed, and its source is the same\n"
    ) in done.out
    assert "where `llmdo lock --check` passes, say `--lock-checked`\n" in done.out
    document = json.loads(llmdo("diff", "--locks", "a", "b", "--format", "json").out)
    assert not document["lock_checked"]
    assert document["hand_edits"] == [
        {"toolset": "calc", "tool": "factorial", "fact": "its description or parameters changed"}
    ]
    assert (
        "**The lock was edited by hand:**" in llmdo("diff", "--locks", "a", "b", "--format", "markdown").out
    )


def test_after_lock_check_it_is_a_library_that_changed_a_tool(llmdo: Llmdo, tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    (tmp_path / "a").write_text(text, encoding="utf-8")
    (tmp_path / "b").write_text(
        text.replace('digest = "sha256:0fe26f48', 'digest = "sha256:00000000'), encoding="utf-8"
    )
    done = llmdo("diff", "--locks", "a", "b", "--lock-checked")
    assert done.code == 0
    assert "note: a library changed: tool `factorial` of toolset `calc`: its description" in done.out
    assert llmdo("diff", "--locks", "a", "b", "--lock-checked", "--fail-on", "changed").code == 1
    markdown = llmdo("diff", "--locks", "a", "b", "--lock-checked", "--format", "markdown").out
    assert "**A library changed:**" in markdown


def test_json_holds_everything(team: Path, llmdo: Llmdo) -> None:
    let_triage_publish(team, llmdo)
    document = json.loads(llmdo("diff", "--format", "json", cwd=team).out)
    assert document["schema"] == "llmdo.diff/1"
    assert (document["status"], document["before"], document["after"]) == ("compared", "HEAD", "worktree")
    assert (document["verdict"], document["accepted"]) == ("widened", False)
    publish, triage = document["entries"]
    assert (publish["verdict"], triage["verdict"]) == ("same", "widened")
    row = triage["rows"][0]
    assert (row["change"], row["capability"], row["scope"]) == ("gained", "fs.write", "out/**")
    assert (row["before"], row["after"]["decision"]) == (None, "allowed")
    assert [(hop["name"], hop["path"], hop["line"]) for hop in row["after"]["path"]] == [
        ("triage", None, None),
        ("publisher", "workers/triage.worker", 5),
        ("filesystem", "workers/publisher.worker", 4),
    ]
    assert document["changes"] == [
        {
            "route": ["worker", "triage", "delegates"],
            "before": ["helper"],
            "after": ["helper", "publisher"],
            "effect": "none",
            "entries": ["triage"],
            "workers": [],
            "accepted": None,
        }
    ]


def test_markdown_has_a_table_for_what_widened_and_folds_the_rest(team: Path, llmdo: Llmdo) -> None:
    let_triage_publish(team, llmdo)
    done = llmdo("diff", "--format", "markdown", cwd=team)
    lines = done.out.split("\n")
    assert lines[0] == "### llmdo: widened"
    assert "#### `triage`: widened" in lines
    assert any(line.startswith("| + | `fs.write:out/**` | allowed without approval |") for line in lines)
    assert lines.index("<details>") > lines.index("#### `triage`: widened")
    assert "* `publish`: same" in lines


HOSTILE = "x` | <script>alert(1)</script> | [a](http://b)\n\n# head\u202e @all"


def test_no_name_gets_out_of_its_place_in_markdown(llmdo: Llmdo, tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    spelled = json.dumps(HOSTILE)
    (tmp_path / "a").write_text(text, encoding="utf-8")
    hostile = (
        text.replace('"decks/" = "input/"', f"{spelled} = {spelled}")
        .replace('description = "Größe"', f"description = {spelled}")
        .replace("[toolset.calc.tool.factorial]", f"[toolset.calc.tool.{spelled}]")
        .replace('reason = "ours"', f"reason = {spelled}")
        .replace("max-depth = 3", "max-depth = 4")
    )
    (tmp_path / "b").write_text(hostile, encoding="utf-8")
    done = llmdo("diff", "--locks", "a", "b", "--format", "markdown")
    assert done.code == 1
    outside = re.sub(r"`[^`\n]+`", "", done.out)
    for piece in ("script", "http", "head", "@all", "`", "\u202e"):
        assert piece not in outside
    assert done.out.count("`x\\u{60} \\u{7c} <script>") >= 4
    text_form = llmdo("diff", "--locks", "a", "b").out
    assert "\u202e" not in text_form
    assert "\n# head" not in text_form


def test_a_changed_tool_names_those_who_use_it(llmdo: Llmdo, tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    (tmp_path / "a").write_text(text, encoding="utf-8")
    changed = text.replace("sha256:73c7d272", "sha256:00000000").replace("sha256:0fe26f48", "sha256:00000000")
    (tmp_path / "b").write_text(changed, encoding="utf-8")
    lines = llmdo("diff", "--locks", "a", "b").out.split("\n")
    concerned = "(used by `main`, reached by `code` and `go`)"
    assert f"  ~ tool `calc.factorial` `digest` changed {concerned}" in lines
    assert f"  ~ toolset `calc` `source` changed {concerned}" in lines
    assert lines[-2] == "verdict: changed"


@pytest.mark.long
def test_a_check_that_finds_nothing_does_not_load_diff(team: Path) -> None:
    script = (
        "import sys\nfrom llmdo.__main__ import main\nsys.argv = ['llmdo', 'check', '--locked']\n"
        "code = main()\nassert not [name for name in sys.modules if name.startswith('llmdo.diff')]\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=team, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("", 'presets = ["read-only"]', "widened"),
        ('presets = ["read-only"]', "", "narrowed"),
        ('isolation = "require"', 'isolation = "off"', "widened"),
        ('env = ["A_NAME"]', 'env = ["A_NAME", "B_NAME"]', "widened"),
    ],
)
def test_a_shell_that_may_run_more_is_widened(
    llmdo: Llmdo, tmp_path: Path, before: str, after: str, verdict: str
) -> None:
    locks = []
    for number, line in enumerate((before, after)):
        root = tmp_path / f"w{number}"
        root.mkdir()
        (root / "llmdo.toml").write_text(
            f'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n\n[toolsets.shell]\n{line}\n\n'
            '[entries.main]\nworker = "main"\n',
            encoding="utf-8",
        )
        (root / "main.worker").write_text("---\nname: main\ntoolsets: [shell]\n---\nGo.\n", encoding="utf-8")
        assert llmdo("lock", cwd=root).code == 0
        locks.append(str(root / "llmdo.lock"))
    document = json.loads(llmdo("diff", "--locks", *locks, "--format", "json").out)
    assert document["verdict"] == verdict


def test_a_ceiling_that_admits_nothing_where_there_was_none_is_said(team: Path, llmdo: Llmdo) -> None:
    edit(team / "llmdo.toml", 'worker = "triage"\n', 'worker = "triage"\nmay = []\n')
    assert "`may` is empty now, it was not there" in llmdo("check", cwd=team).out
    shown = llmdo("diff", cwd=team).out
    assert "`may`: an empty list (there was none)" in shown
    assert "order" not in shown
    assert llmdo("lock", cwd=team).code == 0
    edit(team / "llmdo.toml", "may = []\n", "")
    assert "`may` is gone, it was empty" in llmdo("check", cwd=team).out


def test_the_lock_on_disk_is_a_side_whatever_is_committed(team: Path, llmdo: Llmdo) -> None:
    let_triage_publish(team, llmdo)
    assert llmdo("diff", cwd=team).out.endswith("verdict: widened\n")
    assert llmdo("diff", "llmdo.lock", cwd=team).out == "publish: same\ntriage: same\nverdict: same\n"
    edit(team / "llmdo.toml", '"fs.write:out/**" = "allowed"', '"fs.write:out/**" = "blocked"')
    assert "publish: narrowed" in llmdo("diff", "llmdo.lock..worktree", cwd=team).out
    (team / "llmdo.lock").unlink()
    done = llmdo("diff", "llmdo.lock", cwd=team)
    assert "no baseline: there is no `llmdo.lock`, so everything is new" in done.err
    (team / "llmdo.lock").symlink_to(team / "llmdo.toml")
    assert llmdo("diff", "llmdo.lock", cwd=team).code == 2
