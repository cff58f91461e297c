// The worker: Python with llmdo, and the files of a project in memory. It runs nothing of them.
//
// A file is at first a name with a size. Reading one whose content is not there yet yields nothing and is noted, so
// that the page can bring the contents that llmdo reads, and no others.

const LARGEST = 1024 * 1024; // bytes that llmdo reads of a file: of a larger one only its size matters

let python;
let answered;
let wanted = new Set();
const NOWHERE = "not read yet";
const TEXT = new TextDecoder();

/** Whether a path is not one of a file below the folder of the project. */
function leads(path) {
  return path.split("/").some((name) => name === "" || name === "." || name === "..");
}

/** A file without its content. */
function awaited(folder, path, size) {
  const { FS } = python;
  FS.writeFile(`${folder}/${path}`, "");
  const { node } = FS.lookupPath(`${folder}/${path}`);
  node.usedBytes = size;
  const operations = node.stream_ops;
  node.stream_ops = {
    ...operations,
    read(stream, buffer, offset, length, position) {
      if (size <= LARGEST) {
        wanted.add(path);
        return 0;
      }
      const many = Math.max(0, Math.min(length, size - position));
      buffer.fill(0, offset, offset + many);
      return many;
    },
  };
}

/** A link without the text that says where it leads. */
function awaitedLink(folder, path) {
  const { FS } = python;
  FS.symlink(NOWHERE, `${folder}/${path}`);
  const { node } = FS.lookupPath(`${folder}/${path}`, { follow: false });
  node.node_ops = {
    ...node.node_ops,
    readlink() {
      wanted.add(path);
      return NOWHERE;
    },
  };
}

/** Python's machine with memory for all of a snapshot; its own, which is compiled in, would be too small for it. */
async function roomy(script, settings) {
  const { default: create } = await import(script);
  const machine = await create(settings);
  const bytes = settings.INITIAL_MEMORY; // Pyodide asks for it, but this machine does not heed it
  if (bytes > machine.HEAPU8.length && !machine.growMemory(bytes)) throw new Error(`the browser has no ${bytes} bytes left`);
  return machine;
}

const ACTIONS = {
  async start({ base }) {
    const bytes = (name) => fetch(`${base}${name}`).then((response) => response.arrayBuffer());
    const [memory, later] = [bytes("checker.bin"), bytes("later.zip")];
    const { loadPyodide } = await import(`${base}pyodide/pyodide.mjs`);
    const env = { HOME: "/home", LLMDO_NO_CACHE: "1" };
    const createPyodideModule = (settings) => roomy(`${base}pyodide/pyodide.asm.mjs`, settings);
    python = await loadPyodide({ indexURL: `${base}pyodide/`, env, createPyodideModule, _loadSnapshot: await memory });
    python.unpackArchive(await later, "zip", { extractDir: "/checker" });
    answered = python.runPython("lambda question: answers.answer(subject, question)");
  },

  /** The files of a folder, in place of those before: of each its path, size and mode, and its bytes if they are there. */
  place({ folder, files }) {
    const { FS } = python;
    python.runPython(`import os, shutil; os.chdir("/"); shutil.rmtree("${folder}", ignore_errors=True); os.mkdir("${folder}"); subject.forget()`);
    const folders = new Set();
    const made = (path) => {
      if (!path || folders.has(path)) return;
      folders.add(path);
      FS.mkdirTree(`${folder}/${path}`);
    };
    let skipped = 0;
    for (const { path, size, mode, content } of files) {
      if (leads(path)) {
        skipped += 1;
        continue;
      }
      try {
        made(mode === "160000" ? path : path.slice(0, Math.max(0, path.lastIndexOf("/"))));
        if (mode === "160000") continue;
        if (mode === "120000") awaitedLink(folder, path);
        else if (content) FS.writeFile(`${folder}/${path}`, content);
        else awaited(folder, path, size);
      } catch {
        skipped += 1; // a name that no file can have, or one that is a file and a folder
      }
    }
    return { skipped };
  },

  /** Takes an archive apart into a folder. */
  unpack({ folder, archive }) {
    python.FS.writeFile("/archive.zip", archive);
    return JSON.parse(python.runPython(`from playground import unpacking; subject.forget(); unpacking.unpack("/archive.zip", "${folder}")`));
  },

  /** Contents of files that were wanted; null for one that could not be had. */
  fill({ folder, contents }) {
    const { FS } = python;
    for (const [path, content] of contents) {
      const isLink = FS.isLink(FS.lstat(`${folder}/${path}`).mode);
      FS.unlink(`${folder}/${path}`);
      if (isLink) FS.symlink(content ? TEXT.decode(content) : NOWHERE, `${folder}/${path}`);
      else if (content) FS.writeFile(`${folder}/${path}`, content);
    }
    python.runPython("subject.forget()");
  },

  /** Reads a folder, and says which contents were wanted for it. */
  read({ folder }) {
    wanted = new Set();
    const problem = python.runPython(`answers.tried(subject, "${folder}")`);
    return { wanted: [...wanted], problem: problem ?? null };
  },

  ask({ path, parameters }) {
    return JSON.parse(answered(JSON.stringify({ path, parameters })));
  },
};

addEventListener("message", async ({ data }) => {
  const { number, action, ...more } = data;
  try {
    postMessage({ number, answer: await ACTIONS[action](more) });
  } catch (error) {
    postMessage({ number, error: String(error?.message ?? error).trim().split("\n").at(-1) });
  }
});
