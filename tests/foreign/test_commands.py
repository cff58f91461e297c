"""Patterns of commands: what only seems to be part of a shell is all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.foreign import findings
from llmdo.foreign.commands import besides, commands, through
from llmdo.policy.authority import Capability
from llmdo.policy.shell.programs import BEFORE_PROGRAMS, OPEN_BY_OPTION
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "pattern",
    [
        "python3:*",
        "python3 *",
        "bash -c:*",
        "env *",
        "find:*",
        "npx *",
        "gh --version:*",
        "node --version *",
        "sed*",
        "*",
        ":*",
        "git *",
        "wget *",
    ],
)
def test_a_pattern_that_lets_a_program_run_anything_is_the_whole_shell(pattern: str) -> None:
    assert str(commands(pattern)) == "proc.exec.unlisted"


@pytest.mark.parametrize(
    "pattern",
    [
        "git log:*",
        "ls *",
        "python3 build.py",
        "yarn run test:*",
        "npm run test",
        "jq *",
        "bash",
        "command -v:*",
        "git --version *",
        "python3 --version*",
        "*/scripts/quick.sh:*",
        "python3 */x.py:*",
        "curl -s:*",
    ],
)
def test_other_patterns_are_part_of_it(pattern: str) -> None:
    assert str(commands(pattern)) == "proc.exec"


@pytest.mark.parametrize(
    "pattern",
    [
        "python manage.py:*", "./manage.py *", "uv run python manage.py:*", "python backend/manage.py shell:*",
        "php artisan:*", "php artisan tinker *", "rails runner:*", "bin/rails:*", "mix run:*", "wp plugin list:*",
        ".venv/bin/python:*", "/bin/bash -c:*", "/usr/bin/env *", "python -m pip install:*", "sudo /bin/sh:*",
        "conda run -n app:*", "conda run -n app python:*", "hatch run:*", "direnv exec .:*", "mise exec --:*",
        "docker compose exec:*", "docker compose -f dev.yml exec web:*", "docker-compose run web *", "ssh host ls *",
        "cmd.exe /c:*", "powershell.exe -Command:*", "wsl -e:*", "cross-env NODE_ENV=test:*", "source:*", "bunx *",
        "dotnet run:*", "dart run:*", "deno run:*", "bun run *", "swift run:*", "stack exec --:*", "flask shell:*",
        "psql -d app -c:*", "sqlite3 app.db:*", "tar xf:*", "rsync -av a b:*", "git rebase:*", "go test:*",
        "aws:*", "gcloud compute ssh:*", "claude -p:*", "codex exec:*", "timeout 10 opencode run:*",
        "deno test *", "deno test --allow-read tests/:*", "deno bench:*", "deno serve:*", "deno repl:*", "bun create:*",
        "npm create:*", "npm init -y:*", "pnpm create *", "pnpx:*", "yarn create:*", "corepack pnpm:*", "dnx -y:*",
        "docker container run:*", "docker container run --rm node:22 node:*", "nerdctl run:*", "apptainer exec a.sif:*",
        "flatpak run:*", "gem exec:*", "jbang run:*", "nextflow run *", "pip download:*", "pixi exec:*", "streamlit run *",
        "devcontainer exec:*", "devcontainer exec --workspace-folder app:*", "devcontainer exec --workspace-folder app sh -c:*",
        "npx devcontainer exec:*", "vagrant ssh -c:*", "vagrant ssh web -c:*", "lima:*", "limactl shell default:*",
        "multipass exec primary --:*", "distrobox enter -n box --:*", "distrobox-enter box --:*", "toolbox run -c box:*",
        "infisical run --env dev --:*", "bazel run //tools:*", "flox activate --:*", "aws-vault exec dev --:*",
        "chamber exec service --:*", "incus exec c1 --:*", "lxc exec c1:*", "oc rsh pod:*", "podman compose exec web:*",
        "opam exec --:*", "ddev exec:*", "devbox:*", "op:*",
        "pnpm --filter web *", "pnpm --filter @desk/ui*", "pnpm -F web run *", "pnpm -C web *", "pnpm --dir web *",
        "npm --prefix web *", "npm -w web *", "npm --workspace web run *", "npm --prefix web test *", "yarn --cwd web *",
        "yarn workspace web *", "uv --directory api *", "uv --directory api run *", "uv run --with pytest *",
        "uv run --index https://example.org/simple python *", "uv run -w rich python *", "uv run --only-group dev bash -c *",
        "uv --color never run python *", "uv tool run -w rich python *", "uvx --index https://example.org/simple python *",
        "cargo --manifest-path api/Cargo.toml *", "cargo +nightly *", "cargo +nightly run *", "docker --context dev *",
        "docker --context dev run *", "gh -R desk/site *", "kubectl -n dev *", "kubectl -n dev exec *", "go -C api run *",
        "behave:*", "cucumber-js *", "robot:*", "nose2:*", "bats *", "wdio *", "ctest:*", "rebar3 *", "nyc:*",
        "trivy:*", "trivy plugin *", "trivy plugin run:*", "checkov:*", "checkov -d .:*",
        "gh repo:*", "gh -R desk/site gist *", "docker container:*", "gcloud compute *", "pyenv *", "volta *", "asdf:*",
        "yt-dlp *", "yt-dlp -f best:*", "wget -q *",
        "poetry -C api *", "bun --cwd web *", "docker-compose -f dev.yml *", "just -f web/justfile *", "npx --package x *",
        "python -c ' *", "python -c \"import os; *", "bash -c 'cd web && *", "node -e \"*",
    ],
)  # fmt: skip
def test_a_runner_whose_command_or_code_is_left_open_is_the_whole_shell(pattern: str) -> None:
    assert str(commands(pattern)) == "proc.exec.unlisted"


@pytest.mark.parametrize(
    "pattern",
    [
        "python manage.py test:*", "python manage.py migrate *", "php artisan test:*", "rails test *", "mix test:*",
        ".venv/bin/python build.py *", "python -m http.server:*", "conda run -n app ls:*", "hatch run lint:*",
        "docker compose exec web ls:*", "docker compose up:*", "cross-env NODE_ENV=test webpack:*", "bun run build:*",
        "aws s3 ls:*", "claude mcp list:*", "xargs grep:*", "source venv/bin/activate:*", "git commit:*", "go mod:*",
        "deno lint:*", "deno test", "npm create vite:*", "pnpx prettier *", "docker container run alpine ls:*", "corepack enable *",
        "dotnet test", "npm view react *", "pytest tests:*", "psql", "python manage.py shell",
        "devcontainer exec --workspace-folder app git log:*", "devcontainer up:*", "limactl shell default ls:*", "lima ls *",
        "multipass exec primary -- uname:*", "distrobox enter box -- ls:*", "toolbox run -c box ls:*", "op read:*",
        "infisical run -- eslint:*", "bazel build:*", "multipass list:*", "vagrant up:*",
        "pnpm --filter web test *", "npm --prefix web ls *", "yarn --cwd web test *", "uv --directory api pip list *",
        "uv run --with ruff ruff check *", "uv run --only-group dev ruff check *", "uvx --index https://example.org/simple ruff *",
        "cargo +nightly fmt *", "docker --context dev ps *", "gh -R desk/site pr view *", "kubectl -n dev get *",
        "docker-compose -f dev.yml ps *", "bun --filter web test *",
        "behave features:*", "rebar3 eunit *", "trivy image:*", "trivy plugin list:*",
        "gh repo view *", "docker container ls *", "pyenv versions *", "pyenv --version *", "/usr/bin/curl *", "git commit -m 'fix: *", "sh 'build all.sh' *",
    ],
)  # fmt: skip
def test_a_runner_whose_command_is_named_is_not(pattern: str) -> None:
    assert str(commands(pattern)) == "proc.exec"


@pytest.mark.parametrize(
    ("pattern", "program"),
    [
        ("ba*", "bash"), ("no*", "node"), ("pyth*", "python"), ("s*", "sh"), ("su*", ""), ("xar*", "xargs"), ("/bin/ba*", "bash"),
        ("/usr/bin/*", "bash"), (".venv/bin/*", "python"), (".venv/bin/pyt*", "python"), ("sudo ba*", "bash"),
        ("timeout 5 no*", "node"), ("env -i rub*", "ruby"), ("make te*", "--eval"),
    ],
)  # fmt: skip
def test_a_name_that_goes_on_to_that_of_a_launcher_is_the_whole_shell(pattern: str, program: str) -> None:
    assert str(commands(pattern)) == "proc.exec.unlisted"
    assert through(f"Bash({pattern})") == (f", through `{program}`" if program else "")


@pytest.mark.parametrize(
    "pattern",
    [
        "cat*", "mv*", "ls*", "ps*", "cp*", "rm*", "tr*", "cd*", "du*", "ss*", "git log*", "ba", "ba:*", "ba *",
        "echo*", "scripts/*", "./ba*", "bin/*", ".venv/bin/ruff*", "pnp:*", "hea*", "pnpm run de*", "sudo ls*",
        "just te*", "grad*",
    ],
)  # fmt: skip
def test_a_name_that_goes_on_to_that_of_no_launcher_is_not(pattern: str) -> None:
    assert str(commands(pattern)) == "proc.exec"
    assert through(f"Bash({pattern})") == ""


@pytest.mark.parametrize(
    ("rule", "option"),
    [
        ("Bash(git push:*)", "--receive-pack"), ("bash(git push origin *)", "--receive-pack"), ("Bash(rg:*)", "--pre"),
        ("shell(git -C . fetch *)", "--upload-pack"), ("Bash(gh repo clone:*)", "--upload-pack"), ("Bash(sed *)", "e"),
        ("Bash(/usr/bin/sort:*)", "--compress-program"), ("Bash(git grep *)", "--open-files-in-pager"),
        ("Bash(npm test:*)", "--node-options"), ("Bash(npm publish:*)", "--node-options"), ("Bash(npm version *)", "--node-options"), ("Bash(npm run build *)", "--node-options"),
        ("Bash(deno test *)", "https://"), ("Bash(checkov -d . *)", "--external-checks-git"), ("Bash(bun add:*)", "--trust"),
        ("Bash(dotnet test:*)", "-p"), ("Bash(mvn -q test *)", "exec:exec"), ("Bash(./mvnw verify:*)", "exec:exec"),
    ],
)  # fmt: skip
def test_a_command_with_an_option_that_runs_another_program_says_which(rule: str, option: str) -> None:
    assert str(commands(rule.partition("(")[2][:-1])) == "proc.exec.unlisted"
    assert through(rule) == f", through `{option}`"


@pytest.mark.parametrize("rule", ["Bash", "Bash(*)", "Bash(git:*)", "Bash(git status:*)", "Bash(python3 *)"])
def test_of_others_there_is_no_option_to_name(rule: str) -> None:
    assert through(rule) == ""


def test_a_program_that_a_client_asks_about_runs_no_other_by_a_pattern() -> None:
    assert str(commands("find:*", asked={"find"})) == "proc.exec"
    assert str(commands("fd:*", asked={"find"})) == "proc.exec.unlisted"


@pytest.mark.parametrize("pattern", ["curl:*", "curl -s *", "xh *", "curl https://example.com/*"])
def test_a_command_that_sends_a_request_is_one_to_any_host_and_writes_files(pattern: str) -> None:
    assert {"net.connect", "fs.write", "data.untrusted"} <= set(map(str, besides(pattern)))


@pytest.mark.parametrize(
    "pattern",
    [
        "playwright-cli:*", "npx agent-browser *", "npx -y agent-browser open *", "npx @playwright/cli@latest:*",
        "node_modules/.bin/playwright-cli *", "lynx -dump *", "w3m:*", "wget *", "aria2c *", "uvx yt-dlp *",
        "npm exec agent-browser *", "timeout 10 curl *", "/usr/bin/curl *", "sudo https:*", "FORMS=1 curl *",
    ],
)  # fmt: skip
def test_a_browser_and_a_fetcher_bring_pages_and_send_whoever_starts_them(pattern: str) -> None:
    assert {"net.connect", "data.untrusted"} <= set(map(str, besides(pattern)))


OTHERS = (("docker", "container", "run"), ("gcloud", "compute", "ssh"), ("pyenv", "exec"), ("volta", "run"))


def known_beginnings() -> list[tuple[str, ...]]:
    return sorted({*BEFORE_PROGRAMS, *(tuple(each.split()) for each in OPEN_BY_OPTION), *OTHERS})


@pytest.mark.parametrize("words", known_beginnings(), ids=" ".join)
def test_a_beginning_that_goes_on_to_be_that_of_a_runner_is_one(words: tuple[str, ...]) -> None:
    wider = [" ".join(words[:length]) for length in range(1, len(words) + 1)]
    raised = [commands(f"{each} *") for each in wider]
    assert sorted(raised, key=lambda each: each != UNLISTED) == raised


@pytest.mark.parametrize(
    "noun", ["", "api", "gist", "issue", "label", "pr", "project", "release", "repo", "run", "search"]
)
@pytest.mark.parametrize(
    "verb", ["", "clone", "co", "comment", "create", "delete", "edit", "list", "upload", "view"]
)
@pytest.mark.parametrize("before", ["", "sudo ", "timeout 5 ", "/usr/bin/"])
def test_a_wider_pattern_raises_all_that_a_narrower_one_does(before: str, noun: str, verb: str) -> None:
    narrow = f"{before}gh {noun} {verb}".strip()
    wider = [f"{narrow[:length].rstrip()}*" for length in range(len(f"{before}gh"), len(narrow) + 1)]
    words = narrow.split(" ")
    wider += [
        " ".join(words[:length]) + end
        for length in range(before.count(" ") + 1, len(words) + 1)
        for end in (" *", ":*")
    ]
    for ending in ("", " *", ":*"):
        raised = {*map(str, besides(narrow + ending))}
        assert [each for each in wider if not raised <= {*map(str, besides(each))}] == []


@pytest.mark.parametrize(
    "pattern", ["curl https://example.com/health", "git status:*", "ncat *", "./tools/http *", "npx *"]
)
def test_a_whole_command_and_another_program_send_no_request_of_the_models_choice(pattern: str) -> None:
    assert besides(pattern) == ()


def test_where_anything_may_follow_an_interpreter_alone_is_enough() -> None:
    assert str(commands("bash", is_prefix=True)) == "proc.exec.unlisted"


def agent(tmp_path: Path, mode: str, settings: str) -> foreign.Foreign:
    file = tmp_path / ".claude/agents/helper.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"---\nname: helper\ndescription: Helps.\ntools: Bash\npermissionMode: {mode}\n---\nHelp.\n"
    )
    (tmp_path / ".claude/settings.json").write_text(f'{{"permissions": {settings}}}')
    return foreign.read("claude", tmp_path)


def decision(read: foreign.Foreign, capability: str) -> str | None:
    rows = read.analysis.of(read.graph.entries["helper"])
    return next((row.decision for row in rows if str(row.capability) == capability), None)


def test_an_allowed_interpreter_is_an_allowed_shell(tmp_path: Path) -> None:
    read = agent(tmp_path, "default", '{"allow": ["Bash(python3:*)"]}')
    assert decision(read, "proc.exec.unlisted") == "allowed"


@pytest.mark.parametrize(
    ("session", "expected"),
    [("bypassPermissions", "blocked"), ("acceptEdits", "needs_approval"), ("manual", "blocked")],
)
def test_a_mode_of_the_session_that_holds_below_is_not_changed_by_an_agent(
    tmp_path: Path, session: str, expected: str
) -> None:
    read = agent(tmp_path, "dontAsk", f'{{"defaultMode": "{session}"}}')
    assert decision(read, "proc.exec.unlisted") == expected
    assert ("LDO151" in {each.code for each in findings.check(read)}) is (session == "bypassPermissions")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("git log:*", True),
        ("git -C app log *", True),
        ("git show * -- docs", True),
        ("git diff*", True),
        ("tree *", True),
        ("git log", False),
        ("git log --oneline", False),
        ("git status:*", False),
        ("git add:*", False),
    ],
)
def test_what_git_shows_goes_into_a_file_by_an_option(pattern: str, expected: bool) -> None:
    assert (Capability("fs.write.protected") in besides(pattern)) is expected
