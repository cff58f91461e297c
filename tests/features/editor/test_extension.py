"""The extension for VS Code starts the server that there is, and makes a package."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.features.editor.workspace import FILES, bait
from tests.features.page.conftest import CHROMIUM
from tests.support.waiting import until


def listens(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port)):
        return True
    return False


REPOSITORY = Path(__file__).parents[3]
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
    if (this.server.command === "missing") { throw "spawn missing ENOENT"; }  // a text, as the real one throws
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
    assert started == [["start", server, 5], ["stop"], ["start", server, 5], ["stop"]]


@pytest.mark.few(1)
@pytest.mark.parametrize("command", [[], "llmdo lsp", [1], None])
def test_a_setting_that_is_no_list_of_words_is_not_used(command: object) -> None:
    assert hosted(command)["started"][0][1]["command"] == "llmdo"  # type: ignore[index]


def test_it_says_what_to_install() -> None:
    texts = hosted(["missing"])["texts"]
    assert "`missing` could not be started (spawn missing ENOENT)" in str(texts[0])
    assert "uv tool install 'llmdo-workspace[lsp]'" in str(texts[0])


def test_it_is_short_and_its_default_is_a_command_that_there_is() -> None:
    default = PACKAGE["contributes"]["configuration"]["properties"]["llmdo.command"]["default"]
    assert default == ["llmdo", "lsp"]
    assert (REPOSITORY / "llmdo" / "features" / "editor" / "cli.py").is_file()
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


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it is installed, with its client of the registry."""
    npm = needs("npm")
    where = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(EXTENSION, where)
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
    finished = subprocess.run([npm, "run", "package"], cwd=where, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return where / "llmdo.vsix"


@pytest.mark.long
@pytest.mark.timeout(400)
def test_it_makes_a_package_with_its_client(packaged: Path) -> None:
    with zipfile.ZipFile(packaged) as package:
        names = set(package.namelist())
    assert {"extension/extension.js", "extension/package.json", "extension/worker.tmLanguage.json"} <= names
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
    assert not any("vsce" in name for name in names)


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("command", ["llmdo", "no-such-program"])
def test_vs_code_shows_what_the_server_finds_and_renames_by_it(
    packaged: Path, tmp_path: Path, command: str
) -> None:
    """VS Code itself, as code-server brings it to a browser."""
    program = shutil.which("code-server")
    if program is None or not Path(CHROMIUM).exists():
        pytest.skip(f"there is no `code-server` here, or no {CHROMIUM} to show it in")
    root = tmp_path / "w"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    bait(root)
    words = [str(Path(sys.executable).parent / command), "lsp"]
    user = tmp_path / "data/User"
    user.mkdir(parents=True)
    settings = {"security.workspace.trust.enabled": False, "files.hotExit": "off", "llmdo.command": words}
    (user / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    folders = [f"--user-data-dir={tmp_path / 'data'}", f"--extensions-dir={tmp_path / 'extensions'}"]
    install = [program, *folders, "--install-extension", str(packaged)]
    subprocess.run(install, env=environ, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    serve = [program, *folders, "--auth=none", f"--bind-addr={address}", "--disable-telemetry"]
    serve += ["--disable-update-check", str(root)]
    with (
        subprocess.Popen(
            serve, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(viewport={"width": 1300, "height": 900})
            page.set_default_timeout(40_000)
            until(lambda: listens(address[:9], int(address[10:])), "a server at that address")
            page.goto(f"http://{address}/?folder={root}")
            page.get_by_role("treeitem", name="main.worker").dblclick()
            if command == "llmdo":
                edited(page)
            else:
                page.get_by_text(f"`{words[0]}` could not be started (").last.wait_for()
                assert "(undefined)" not in page.inner_text("body")
        finally:
            browser.close()
            os.killpg(server.pid, signal.SIGTERM)
    if command == "llmdo":
        for path in ("main.worker", "other.worker"):
            assert (root / path).read_text() == FILES[path].replace("other", "helper")
    assert not (root / "executed").exists()


def edited(page: Page) -> None:
    """Misspells a name, lets it be fixed, and renames the worker."""

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(300)

    lines = page.locator(".view-lines")
    squiggles = page.locator(".squiggly-error")
    lines.get_by_text("name: main").click()
    press("Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", *["ArrowRight"] * 4, "x")
    squiggles.wait_for()
    press("Control+k", "Control+i")
    page.get_by_text("did you mean `other`?").first.wait_for()
    press("Escape", "Control+.")
    page.get_by_text("Write `other` for `otxher`").wait_for()
    press("Enter")
    squiggles.wait_for(state="detached")
    page.locator(".codelens-decoration").get_by_text("reaches").first.wait_for()
    press("Control+Home", "ArrowDown", *["ArrowRight"] * 7, "Control+k", "Control+i")
    page.locator(".monaco-hover").get_by_text("x.kit.read").first.wait_for()
    press("Escape", "ArrowDown", "ArrowDown", "Home", "F2")
    page.locator(".rename-input").fill("helper")
    press("Enter")
    lines.get_by_text("helper").wait_for()
    press("Control+k")
    page.keyboard.press("s")  # saves all
    page.locator(".dirty").first.wait_for(state="detached")
