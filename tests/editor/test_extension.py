"""The extension for VS Code starts the server that there is, and makes a package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
EXTENSION = REPOSITORY / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|E40[134]"
)

HOST = """
const Module = require("module");
const started = [];
const texts = [];
const handlers = {};
const settings = { command: JSON.parse(process.argv[2]) };
const vscode = {
  StatusBarAlignment: { Right: 2 },
  window: {
    createStatusBarItem: () => ({ show() {} }),
    showErrorMessage: async (text) => { texts.push(text); },
  },
  workspace: {
    getConfiguration: () => ({ get: (key) => settings[key] }),
    onDidChangeConfiguration: (handler) => { handlers.configuration = handler; },
  },
  commands: { registerCommand: (name, handler) => { handlers[name] = handler; } },
};
class LanguageClient {
  constructor(id, name, server, options) { this.server = server; this.options = options; }
  onDidChangeState() {}
  async start() {
    started.push(["start", this.server, this.options.documentSelector.length]);
    if (this.server.command === "missing") { throw new Error("ENOENT"); }
  }
  async stop() { started.push(["stop"]); }
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode
  : name === "vscode-languageclient/node" ? { LanguageClient, State: { Running: 2, Starting: 3, Stopped: 1 } }
  : load(name, ...rest);
const extension = require(process.argv[1]);
(async () => {
  await extension.activate({ subscriptions: [] });
  await handlers["llmdo.restart"]();
  await extension.deactivate();
  console.log(JSON.stringify({ started, texts }));
})();
"""
"""An editor, as far as the extension asks for it."""


def needs(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"there is no `{program}` here, which editors of this kind are made with")
    return path


def hosted(command: object) -> dict[str, list[object]]:
    words = [needs("node"), "-e", HOST, str(EXTENSION / "extension.js"), json.dumps(command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[object]] = json.loads(done.stdout)
    return answer


def test_it_starts_the_server_without_a_shell_and_ends_it() -> None:
    started = hosted(["llmdo", "lsp"])["started"]
    server = {"command": "llmdo", "args": ["lsp"], "options": {"shell": False}}
    assert started == [["start", server, 4], ["stop"], ["start", server, 4], ["stop"]]


@pytest.mark.few(1)
@pytest.mark.parametrize("command", [[], "llmdo lsp", [1], None])
def test_a_setting_that_is_no_list_of_words_is_not_used(command: object) -> None:
    assert hosted(command)["started"][0][1]["command"] == "llmdo"  # type: ignore[index]


def test_it_says_what_to_install() -> None:
    texts = hosted(["missing"])["texts"]
    assert "uv tool install 'llmdo-workspace[lsp]'" in str(texts[0])


def test_it_is_short_and_its_default_is_a_command_that_there_is() -> None:
    default = PACKAGE["contributes"]["configuration"]["properties"]["llmdo.command"]["default"]
    assert default == ["llmdo", "lsp"]
    assert (REPOSITORY / "llmdo" / "cli" / "commands" / "lsp.py").is_file()
    code = [line for line in (EXTENSION / "extension.js").read_text().splitlines() if line.strip()]
    assert len(code) < 120
    contributed = PACKAGE["contributes"]
    declared = [
        PACKAGE["main"],
        contributed["languages"][0]["configuration"],
        contributed["grammars"][0]["path"],
    ]
    assert all((EXTENSION / name).is_file() for name in declared)


def test_an_untrusted_folder_cannot_say_what_is_started() -> None:
    untrusted = PACKAGE["capabilities"]["untrustedWorkspaces"]
    assert untrusted["restrictedConfigurations"] == ["llmdo.command"]


def test_it_is_part_of_a_release() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert "/editors" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_it_makes_a_package_with_its_client(tmp_path: Path) -> None:
    npm = needs("npm")
    shutil.copytree(EXTENSION, tmp_path / "vscode")
    where = tmp_path / "vscode"
    words = [
        npm,
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefer-offline",
        "--fetch-retries=0",
    ]
    installed = subprocess.run(words, cwd=where, capture_output=True, text=True)
    if installed.returncode and UNREACHABLE.search(installed.stderr):
        pytest.skip("the libraries of the extension cannot be had here: no registry answers")
    assert installed.returncode == 0, installed.stderr
    made = subprocess.run([npm, "run", "package"], cwd=where, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    with zipfile.ZipFile(where / "llmdo.vsix") as package:
        names = set(package.namelist())
    assert {"extension/extension.js", "extension/package.json", "extension/worker.tmLanguage.json"} <= names
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
    assert not any("vsce" in name for name in names)
