// Data for the views: from the server that handed out this page, or from the page itself where it is a file.

const TOKEN = "llmdo-token";

/** That something could not be had, in words for a person. */
export class Failure extends Error {
  constructor(status, message, hint = null, at = null) {
    super(message);
    Object.assign(this, { status, hint, at });
  }
}

const holder = document.getElementById("kept");

/** Whether this page is a file, so that nothing but what it holds can be asked for, and nothing done. */
export const isFile = holder !== null;

let held = null;

/** Reads what a file holds; to be awaited before anything is asked for. */
export async function opened() {
  if (isFile) held = await unpacked(holder.textContent);
}

/** The parameters with which a file holds answers of `path`. */
export function heldOf(path) {
  return (held ?? []).filter((each) => each.path === path).map((each) => each.parameters);
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Whether there is an answer of `path`: of a server always, of a file where it holds it. */
export function holds(path, parameters) {
  return !isFile || answerOf(path, given(parameters)) !== undefined;
}

function answerOf(path, parameters) {
  const wanted = Object.entries(parameters);
  return held.find(
    (each) =>
      each.path === path &&
      Object.keys(each.parameters).length === wanted.length &&
      wanted.every(([name, value]) => each.parameters[name] === value),
  );
}

function heldAnswer(path, parameters) {
  const answer = answerOf(path, parameters);
  if (!answer) throw new Failure(404, "this file does not hold that", "`llmdo page` shows everything");
  return answer.data;
}

/**
 * What the address of the page brings, is kept in this tab, and handed to other tabs of the same page that ask.
 *
 * It is taken out of the address, so that nobody copies it by accident.
 */
const channel = isFile ? null : new BroadcastChannel("llmdo");

function kept() {
  return sessionStorage.getItem(TOKEN);
}

export function takeToken() {
  const match = /^#token=([\w-]+)(?:&at=(.*))?$/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(TOKEN, match[1]);
    history.replaceState(null, "", location.pathname + (match[2] ? `#${match[2]}` : "#/"));
  }
  channel?.addEventListener("message", ({ data }) => {
    if (data === "who knows the token?" && kept()) channel.postMessage({ token: kept() });
  });
}

const PATIENCE = 300; // ms that another tab has to answer

async function token() {
  if (kept() || isFile) return kept();
  return new Promise((resolve) => {
    const listen = ({ data }) => {
      if (!data?.token) return;
      sessionStorage.setItem(TOKEN, data.token);
      done();
    };
    const timer = setTimeout(() => done(), PATIENCE);
    const done = () => {
      clearTimeout(timer);
      channel.removeEventListener("message", listen);
      resolve(kept());
    };
    channel.addEventListener("message", listen);
    channel.postMessage("who knows the token?");
  });
}

function address(path, parameters) {
  const query = new URLSearchParams(parameters).toString();
  return query ? `${path}?${query}` : path;
}

function given(parameters) {
  return Object.fromEntries(
    Object.entries(parameters)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
}

async function fetched(path, parameters, options) {
  const known = await token();
  if (!known) throw new Failure(401, "this tab does not know the token", "open the link that `llmdo page` prints");
  const headers = { ...options.headers, Authorization: `Bearer ${known}` };
  let response;
  try {
    response = await fetch(address(path, parameters), { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "`llmdo page` does not answer", "start it again, and open the link that it prints");
  }
  if (response.ok) return response;
  const why = await response.json().catch(() => ({}));
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    throw new Failure(401, "this page belongs to another `llmdo page`", "open the link that the one now running printed");
  }
  throw new Failure(response.status, why.error ?? `status ${response.status}`, why.hint, why.at);
}

/** What `path` answers. */
export async function get(path, parameters = {}, { signal } = {}) {
  if (isFile) return heldAnswer(path, given(parameters));
  return (await fetched(path, given(parameters), { signal })).json();
}

/** Sends `body` to `path`, and returns what it answers. */
export async function post(path, body, parameters = {}, { signal } = {}) {
  if (isFile) throw new Failure(403, "a file can only be looked at", "`llmdo page` can do more");
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(body), signal };
  return (await fetched(path, given(parameters), options)).json();
}

/** Each event of the stream at `path`, as it comes, until it ends or `signal` is aborted. */
export async function* events(path, parameters = {}, { signal } = {}) {
  const response = await fetched(path, given(parameters), { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      if (!part) continue; // a sign of life
      const event = JSON.parse(part);
      if (event?.error !== undefined && event.hint !== undefined) throw new Failure(422, event.error, event.hint);
      yield event;
    }
  }
}
