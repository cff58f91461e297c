// The project that is open: where it is from, its files in the worker, and what of it was left out.

import { Checker } from "./checker.js";
import { Failure } from "./failure.js";
import { comparedAt, repositoryAt } from "./github.js";

const AFTER = "/project";
const BEFORE = "/before";
const ROUNDS = 12; // of reading and bringing what was wanted: a file may name another
const MOST_FILES = 3_000; // contents that are brought
const MOST_BYTES = 64 * 1024 * 1024;
const ENCODER = new TextEncoder();
const EDITED = { before: "as it was opened", after: "as it is edited" };

/** Its state, and what may be done with it; one for the page. */
class Session {
  constructor() {
    this.checker = null;
    this.opened = Promise.resolve(); // what the page waits for before it asks anything
    this.listeners = new Set();
    this.close();
  }

  close() {
    Object.assign(this, { source: null, sides: null, leftOut: [], isStrict: false, texts: new Map(), edited: new Set() });
  }

  /** Tells those who listen what goes on; an empty sentence once nothing does. */
  tell(sentence) {
    for (const each of this.listeners) each(sentence);
  }

  get isOpen() {
    return this.source !== null;
  }

  /** Starts Python, ahead of the first project: that takes longest. */
  ready() {
    this.checker ??= new Checker();
    return this.checker.started;
  }

  /** Opens what `bring` yields, and shows it to whoever waits for `opened`. */
  open(bring) {
    this.opened = this.bring(bring).finally(() => this.tell(""));
    this.opened.catch(() => {});
    return this.opened;
  }

  async bring(bring) {
    this.close();
    const started = this.ready();
    this.tell("Starting Python");
    const { after, before = null, title, sides = null, address = "", texts = null } = await bring((sentence) => this.tell(sentence));
    await started.catch((error) => {
      this.checker = null;
      throw new Failure(0, "Python does not start in this browser", error.message);
    });
    const leftOut = [];
    if (before) leftOut.push(...(await this.place(BEFORE, before)));
    leftOut.push(...(await this.place(AFTER, after)));
    this.leftOut = [...new Set([...leftOut, ...(before?.leftOut ?? []), ...(after.leftOut ?? [])])];
    this.source = { title, repository: after.repository ?? null };
    this.sides = sides;
    this.texts = texts ?? new Map();
    history.replaceState(null, "", `${location.pathname}${address}${location.hash}`);
  }

  /** Puts files into a folder of the worker, and brings the contents that reading them asks for. */
  async place(folder, source) {
    const leftOut = [];
    if (source.archive) {
      const { problem, sentences } = await this.checker.do("unpack", { folder, archive: source.archive });
      if (problem) throw new Failure(422, problem, "a ZIP that GitHub or your machine made");
      leftOut.push(...sentences);
    } else {
      const { skipped } = await this.checker.do("place", { folder, files: source.files });
      if (skipped) leftOut.push(`${skipped.toLocaleString("en")} files have names that cannot be kept here, and were left out.`);
    }
    let [files, bytes] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      this.tell("Reading what agents may do");
      const { wanted, problem } = await this.checker.do("read", { folder });
      if (!wanted.length) {
        if (problem) throw new Failure(422, problem, null);
        return leftOut;
      }
      const few = wanted.slice(0, Math.max(0, MOST_FILES - files));
      const contents = source.contents && bytes < MOST_BYTES ? await source.contents(few, (sentence) => this.tell(sentence)) : [];
      files += few.length;
      bytes += contents.reduce((sum, [, content]) => sum + (content?.length ?? 0), 0);
      const there = new Set(contents.map(([path]) => path));
      const missing = wanted.filter((path) => !there.has(path));
      if (missing.length) leftOut.push(`${missing.length.toLocaleString("en")} files more than are read here were left out.`);
      await this.checker.do("fill", { folder, contents: [...contents, ...missing.map((path) => [path, null])] });
    }
    leftOut.push("Files that name further files were followed so far and no further.");
    return leftOut;
  }

  /** The answer of an endpoint. */
  async ask(path, parameters) {
    await this.opened;
    const { data, error, hint, status, at } = await this.checker.do("ask", { path, parameters });
    if (error !== undefined) throw new Failure(status, error, hint, at);
    return data;
  }

  /** Changes a text of a project that was opened from texts. */
  async edit(path, text) {
    this.texts.set(path, text);
    this.edited.add(path);
    await this.checker.do("fill", { folder: AFTER, contents: [[path, ENCODER.encode(text)]] });
  }

  /** Stops whatever Python does; it starts again with the next project. */
  stop() {
    this.checker?.end();
    this.checker = null;
    this.close();
  }
}

export const session = new Session();

/** A project of texts, which can be edited, and compared with what it was. */
export function ofTexts(title, texts, address) {
  const files = () => [...texts].map(([path, text]) => ({ path, size: 0, mode: "100644", content: ENCODER.encode(text) }));
  return async () => ({ title, after: { files: files() }, before: { files: files() }, texts: new Map(texts), sides: EDITED, address });
}

/** A public repository, or what `range` changes in it. */
export function ofRepository(repository, range = null) {
  const { owner, name } = repository;
  return async (tell) => {
    if (range === null) {
      const after = await repositoryAt(repository, tell);
      const { sha } = after.repository;
      return { title: `${owner}/${name}`, after, address: `?repo=${owner}/${name}@${sha}` };
    }
    const { before, after } = await comparedAt(repository, range, tell);
    const sides = { before: before.repository.sha.slice(0, 12), after: after.repository.sha.slice(0, 12) };
    const address = `?repo=${owner}/${name}&diff=${before.repository.sha}...${after.repository.sha}`;
    return { title: `${owner}/${name}`, before, after, sides, address };
  };
}

const MOST_DROPPED = 60_000; // files of a folder

/** A folder of this machine, as a browser hands it out; nothing of it leaves the machine. */
export function ofFolder(title, files) {
  return async () => {
    if (files.length > MOST_DROPPED) throw new Failure(422, `the folder has more than ${MOST_DROPPED.toLocaleString("en")} files`, "drop a part of it");
    const byPath = new Map(files);
    const contents = (paths) => Promise.all(paths.map(async (path) => [path, new Uint8Array(await byPath.get(path).arrayBuffer())]));
    const listed = files.map(([path, file]) => ({ path, size: file.size, mode: "100644" }));
    return { title, after: { files: listed, contents } };
  };
}

/** A ZIP of this machine. */
export function ofArchive(title, file) {
  return async () => ({ title, after: { archive: new Uint8Array(await file.arrayBuffer()) } });
}
