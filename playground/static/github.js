// Public repositories, by the two hosts of GitHub that need no token: one lists files, the other hands them out.

import { Failure } from "./failure.js";

const { api: API, raw: RAW, site: SITE } = JSON.parse(document.getElementById("hosts").textContent);
const AT_ONCE = 12; // requests
const FULL = /^[0-9a-f]{40}$/;
const SHA = { Accept: "application/vnd.github.sha" };
const DROP = "download the repository and drop its folder or ZIP here";

/** What `owner/name@ref`, or an address of GitHub, means; null for anything else. */
export function repositoryOf(text) {
  const match = /^(?:https:\/\/github\.com\/)?([\w.-]+)\/([\w.-]+?)(?:\.git)?(?:(?:@|\/tree\/|\/commit\/)([^\s?#]+?))?\/?$/.exec(text.trim());
  if (!match || /^\.+$/.test(match[1]) || /^\.+$/.test(match[2])) return null;
  return { owner: match[1], name: match[2], ref: match[3] ?? "HEAD" };
}

export function blobAddress({ owner, name, sha }, path, line) {
  return `${SITE}/${owner}/${name}/blob/${sha}/${encoded(path)}${line ? `#L${line}` : ""}`;
}

function encoded(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

async function asked(path, headers = {}) {
  let response;
  try {
    response = await fetch(`${API}/repos/${path}`, { headers, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch {
    throw new Failure(0, "GitHub does not answer", `try again, or ${DROP}`);
  }
  if (response.ok) return response;
  if (response.status === 404 || response.status === 422)
    throw new Failure(404, "GitHub has no public repository or revision of that name", `of a private one: ${DROP}`);
  if (response.status === 409) throw new Failure(409, "the repository is empty", "there is nothing to read");
  if (response.status === 403 || response.status === 429) {
    const reset = Number(response.headers.get("x-ratelimit-reset"));
    const until = reset ? ` until ${new Date(reset * 1000).toLocaleTimeString()}` : "";
    throw new Failure(429, `GitHub answers no more questions from your address${until}`, `it allows 60 an hour without an account; or ${DROP}`);
  }
  throw new Failure(response.status, `GitHub answers with status ${response.status}`, `try again, or ${DROP}`);
}

/** The commit that a name means now. */
async function commitOf({ owner, name, ref }) {
  if (FULL.test(ref)) return ref;
  return (await (await asked(`${owner}/${name}/commits/${encodeURIComponent(ref)}`, SHA)).text()).trim();
}

/** The files of a repository at a commit: path, size and mode of each; and sentences about what is not there. */
async function filesAt(repository, sha) {
  const { tree = [], truncated } = await (await asked(`${repository.owner}/${repository.name}/git/trees/${sha}?recursive=1`)).json();
  const files = tree
    .filter(({ type }) => type !== "tree")
    .map(({ path, size = 0, mode }) => ({ path, size, mode }));
  const leftOut = [];
  if (truncated) leftOut.push(`GitHub lists only the first ${files.length.toLocaleString("en")} files of this repository, so agents may be missing: ${DROP}.`);
  const modules = files.filter(({ mode }) => mode === "160000").map(({ path }) => path);
  if (modules.length) leftOut.push(`Submodules are not read: ${listed(modules)}.`);
  return { files, leftOut };
}

function listed(names) {
  const more = names.length - 3;
  return `${names.slice(0, 3).map((each) => `\`${each}\``).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The repository as a source: its files, and how contents are had. */
export async function repositoryAt(repository, tell) {
  tell(`Asking GitHub for ${repository.owner}/${repository.name}`);
  const sha = await commitOf(repository);
  return sourceOf({ ...repository, sha });
}

/** Both sides of `base...head`, as GitHub compares them: from where head left base. */
export async function comparedAt(repository, range, tell) {
  const [base, head] = range.split(/\.{2,3}/);
  if (!base || !head) throw new Failure(400, `\`${range}\` does not name two revisions`, "`base...head`");
  tell(`Asking GitHub what ${head} changes`);
  const { owner, name } = repository;
  const path = `${owner}/${name}/compare/${encodeURIComponent(base)}...${encodeURIComponent(head)}?per_page=1`;
  const { merge_base_commit: start } = await (await asked(path)).json();
  const [, branch] = head.includes(":") ? [null, await headOfFork(repository, head)] : [null, head];
  const [before, after] = [start.sha, await commitOf({ owner, name, ref: branch })];
  return { before: await sourceOf({ owner, name, sha: before }), after: await sourceOf({ owner, name, sha: after }) };
}

/** The commit of a branch of a fork, `owner:branch`, which GitHub knows in the repository as well. */
async function headOfFork({ name }, head) {
  const [owner, ...branch] = head.split(":");
  return commitOf({ owner, name, ref: branch.join(":") });
}

async function sourceOf(repository) {
  const { files, leftOut } = await filesAt(repository, repository.sha);
  return { repository, files, leftOut, contents: (paths, tell) => contentsOf(repository, paths, tell, leftOut) };
}

const POINTER = "version https://git-lfs.github.com/spec/";

async function contentsOf(repository, paths, tell, leftOut) {
  const waiting = [...paths];
  const contents = [];
  const lost = [];
  const pointers = [];
  const next = async () => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const content = await contentOf(repository, path);
      if (content === null) lost.push(path);
      else if (content.length < 1024 && new TextDecoder().decode(content).startsWith(POINTER)) pointers.push(path);
      contents.push([path, content]);
      if (contents.length % 20 === 0) tell(`Reading ${contents.length} of ${paths.length} files`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  if (lost.length) leftOut.push(`GitHub did not hand out ${listed(lost)}, so it was not read.`);
  if (pointers.length) leftOut.push(`Files in Git LFS are read as the pointers that they are: ${listed(pointers)}.`);
  return contents;
}

async function contentOf({ owner, name, sha }, path) {
  const address = `${RAW}/${owner}/${name}/${sha}/${encoded(path)}`;
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      const response = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      if (response.status === 404) return null;
    } catch {
      // asked once more
    }
  }
  return null;
}
