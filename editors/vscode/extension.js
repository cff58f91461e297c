// Starts `llmdo lsp` for the workspaces of this window, and shows what it says.
//
// Everything that is known of llmdo is in the server; this only starts it, ends it, and says what to install.

"use strict";

const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");

const MANIFEST = "**/llmdo.toml";

/** The files of other tools, which a manifest may adopt. */
const ADOPTED =
  "**/{.agents,.claude,.codex,.cursor,.fast-agent,.gemini,.github,.kiro,.opencode,.qwen,.roo,.vscode}/**/*.{json,jsonc,md,rules,toml,yaml,yml}";

/** The server as it runs now; undefined where it does not. */
let client;

/** What a person sees at the bottom of the window. */
let status;

/** The program to start, and its arguments: what the settings say, as a list of words and never through a shell. */
function words() {
  const given = vscode.workspace.getConfiguration("llmdo").get("command");
  const isUsable = Array.isArray(given) && given.length > 0 && given.every((word) => typeof word === "string");
  return isUsable ? given : ["llmdo", "lsp"];
}

/** The files that the server is told about. */
function selector() {
  return [
    { scheme: "file", language: "llmdo-worker" },
    { scheme: "file", pattern: MANIFEST },
    { scheme: "file", pattern: "**/llmdo.lock" },
    { scheme: "file", language: "python" },
    { scheme: "file", pattern: ADOPTED },
  ];
}

/** Says that the server cannot be started, and what may help; the client rejects with a text, Node.js with an error. */
async function explain(error) {
  const [program] = words();
  const reason = error instanceof Error ? error.message : String(error);
  const answer = await vscode.window.showErrorMessage(
    `llmdo: \`${program}\` could not be started (${reason}). Install it with ` +
      "`uv tool install 'llmdo-workspace[lsp]'`, or say where it is in the setting `llmdo.command`.",
    "Open the Setting",
  );
  if (answer) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "llmdo.command");
  }
}

function show(state) {
  const texts = { [State.Running]: "llmdo", [State.Starting]: "$(sync~spin) llmdo", [State.Stopped]: "$(error) llmdo" };
  status.text = texts[state];
  status.tooltip = "The language server of llmdo: choose to start it again";
}

async function start() {
  const [command, ...args] = words();
  client = new LanguageClient(
    "llmdo",
    "llmdo",
    { command, args, options: { shell: false } },
    { documentSelector: selector(), diagnosticCollectionName: "llmdo" },
  );
  client.onDidChangeState(({ newState }) => show(newState));
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    show(State.Stopped);
    await explain(error);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right);
  status.command = "llmdo.restart";
  status.show();
  context.subscriptions.push(
    status,
    vscode.commands.registerCommand("llmdo.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("llmdo.command")) {
        await restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
