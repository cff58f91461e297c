// Data for the views, from Python in this tab: it stands in for the module of the same name of the page.

import { Failure } from "./failure.js";
import { session } from "./session.js";

/** Whether nothing can be done here, as with a file. */
export const isFile = true;

export async function opened() {}

export function takeToken() {}

const NOTHING = { version: "", name: "llmdo playground", read_from: null, entries: [], workers: [], toolsets: [], notes: [] };

/** The parameters with which answers of `path` are there. */
export function heldOf(path) {
  if (!session.isOpen) return [];
  if (path === "/api/diff") return session.sides ? [session.sides] : [];
  return [{}];
}

export function holds(path) {
  return heldOf(path).length > 0;
}

/** What `path` answers. */
export async function get(path, parameters = {}) {
  await session.opened;
  if (!session.isOpen) return NOTHING;
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return session.ask(path, Object.fromEntries(given.map(([name, value]) => [name, String(value)])));
}

export async function post() {
  throw new Failure(403, "nothing is done here", "install llmdo to run agents");
}

export async function* events() {}
