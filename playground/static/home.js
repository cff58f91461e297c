// The first view: what may be opened, while nothing is; else what llmdo says of what is open.

import { keepOffline } from "./checker.js";
import { get } from "./client.js";
import { fill, h } from "./dom.js";
import { Failure } from "./failure.js";
import { findingsOf } from "./findings.js";
import { repositoryOf } from "./github.js";
import { ofArchive, ofFolder, ofRepository, ofTexts, session } from "./session.js";
import { failing } from "./states.js";

const EXAMPLES = JSON.parse(document.getElementById("examples").textContent);

const PASTED = [".claude/agents/pasted.md", ".claude/settings.json", ".github/workflows/agent.yml", ".codex/config.toml", ".gemini/settings.json", "opencode.json", ".mcp.json", ".github/agents/pasted.agent.md"];

/** What the address of the page asks for, if anything. */
function asked() {
  const query = new URLSearchParams(location.search);
  const [repo, example, files] = ["repo", "example", "files"].map((name) => query.get(name));
  if (files) return ofPacked(files);
  if (example && Object.hasOwn(EXAMPLES, example)) return exampleOf(example);
  if (!repo) return null;
  const repository = repositoryOf(repo);
  if (!repository) return async () => {
    throw new Failure(400, `\`${repo}\` is no repository`, "write owner/name");
  };
  return ofRepository(repository, query.get("diff"));
}

function exampleOf(name) {
  const { title, files } = EXAMPLES[name];
  return ofTexts(title, Object.entries(files), `?example=${encodeURIComponent(name)}`);
}

progress();
keepOffline();
const first = asked();
if (first) session.open(first);
else session.ready().catch(() => {}); // it takes longest, so it begins before anybody has chosen

/** The example of a page of the docs, which its link holds. */
function ofPacked(files) {
  return async (tell) => {
    const letters = atob(files.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const texts = await new Response(stream).json().catch(() => {
      throw new Failure(400, "the link is not whole", "open it where it is from");
    });
    return ofTexts("An example of the docs", Object.entries(texts), `?files=${files}`)(tell);
  };
}

/** Opens a project, and shows it at the start. */
async function open(context, bring) {
  await session.open(bring).catch(() => {});
  if (location.hash && location.hash !== "#/") history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  context.refresh();
}

/** A form of one line. */
function line(label, input, button, onsubmit) {
  const submit = (event) => {
    event.preventDefault();
    onsubmit();
  };
  return h("form", { class: "asking", onsubmit: submit }, h("label", {}, h("span", {}, label), input), h("button", { type: "submit", class: "button" }, button));
}

function byRepository(context) {
  const problem = h("p", { class: "problem", role: "alert" });
  const input = h("input", { type: "text", name: "repo", placeholder: "owner/name", autocomplete: "off", spellcheck: "false", required: true });
  const form = line("A public repository of GitHub", input, "Read it", () => {
    const repository = repositoryOf(input.value);
    if (repository) open(context, ofRepository(repository));
    else fill(problem, "Write owner/name, or owner/name@revision, or the address of the repository.");
  });
  return [form, problem];
}

/** The files below a dropped folder, each with its path. */
async function below(entry, path = "") {
  if (entry.isFile) return [[path + entry.name, await new Promise((resolve, reject) => entry.file(resolve, reject))]];
  const reader = entry.createReader();
  const files = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return files;
    for (const each of some) if (!isSkipped(each)) files.push(...(await below(each, `${path}${entry.name}/`)));
  }
}

function isSkipped({ name }) {
  return name === ".git" || name === "node_modules";
}

function withoutTop(files) {
  return files.map(([path, file]) => [path.split("/").slice(1).join("/"), file]);
}

async function dropped(context, transfer) {
  const [item] = [...transfer.items].filter(({ kind }) => kind === "file");
  const entry = item?.webkitGetAsEntry();
  if (!entry) return;
  if (entry.isDirectory) {
    const files = withoutTop(await below(entry));
    open(context, ofFolder(entry.name, files));
  } else openFile(context, item.getAsFile());
}

async function openFile(context, file) {
  if (/\.zip$/i.test(file.name)) open(context, ofArchive(file.name, file));
  else open(context, ofFolder(file.name, [[file.name, file]]));
}

function byFolder(context) {
  const folder = h("input", {
    type: "file",
    webkitdirectory: true,
    onchange: ({ target }) => {
      const files = [...target.files].map((file) => [file.webkitRelativePath, file]);
      const kept = files.filter(([path]) => !path.split("/").some((name) => isSkipped({ name })));
      if (kept.length) open(context, ofFolder(kept[0][0].split("/")[0], withoutTop(kept)));
    },
  });
  const archive = h("input", { type: "file", accept: ".zip", onchange: ({ target }) => target.files[0] && openFile(context, target.files[0]) });
  return h(
    "div",
    {
      class: "drop",
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => {
        event.preventDefault();
        dropped(context, event.dataTransfer);
      },
    },
    h("p", {}, "Drop a folder or a ZIP here, or choose one. It does not leave this machine."),
    h("label", {}, h("span", {}, "Folder"), folder),
    h("label", {}, h("span", {}, "ZIP"), archive),
  );
}

function byText(context) {
  const name = h("input", { type: "text", value: PASTED[0], list: "names", spellcheck: "false", required: true });
  const text = h("textarea", { rows: "8", spellcheck: "false", required: true });
  const submit = (event) => {
    event.preventDefault();
    const path = name.value.replace(/^\/+/, "");
    open(context, ofTexts(path, [[path, text.value]], ""));
  };
  return h(
    "form",
    { class: "pasting", onsubmit: submit },
    h("label", {}, h("span", {}, "An agent's file, or a setting"), text),
    h("label", {}, h("span", {}, "Its path in the project"), name, h("datalist", { id: "names" }, PASTED.map((value) => h("option", { value })))),
    h("button", { type: "submit", class: "button" }, "Read it"),
  );
}

function byExample(context) {
  const item = ([name, { title, about }]) =>
    h("li", {}, h("button", { type: "button", class: "button", "data-example": name, onclick: () => open(context, exampleOf(name)) }, title), h("span", {}, about));
  return h("ul", { class: "examples" }, Object.entries(EXAMPLES).map(item));
}

function start(context) {
  return h(
    "div",
    { class: "page start" },
    h("h1", {}, "What can your agents reach through each other?"),
    h("p", { class: "lead" }, "llmdo reads the agents, workflows and settings of a project and says what each agent can do, by which way, and who is asked. All of it runs in this tab: nothing is sent anywhere, and nothing of the project is run."),
    h("section", {}, h("h2", {}, "A repository"), byRepository(context)),
    h("section", {}, h("h2", {}, "An example"), byExample(context)),
    h("section", {}, h("h2", {}, "A folder or a ZIP of this machine"), byFolder(context)),
    h("section", {}, h("h2", {}, "A text"), byText(context)),
  );
}

/** What is told while something is read, and a way to stop it. */
function progress() {
  const words = h("span", {});
  const stop = h("button", { type: "button", class: "button", onclick: () => session.stop() }, "Stop");
  const box = h("div", { id: "progress", role: "status", hidden: true }, words, stop);
  session.listeners.add((sentence) => {
    box.hidden = !sentence;
    fill(words, sentence);
  });
  document.body.append(box);
}

export const home = {
  name: "home",
  title: "Findings",
  home: "",
  key: "f",
  routes: [""],

  async load() {
    await session.opened.catch(() => {});
    return session.isOpen ? get("/api/findings") : null;
  },

  async render(data, context) {
    if (data) return findingsOf(data, context);
    context.title = "Open a project";
    const why = await session.opened.then(() => null, (error) => error);
    return h("div", {}, why && failing(why, null), start(context));
  },
};

