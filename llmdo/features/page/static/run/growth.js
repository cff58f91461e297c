// What happened in a run: from a server as it comes, or from a file that holds all of it.

import { events, get, isFile } from "../client.js";

const AGAIN = 1500; // ms until a stream that ended is asked for again

/** What happened in a run until now, in parts of which the last has no `has_more`. */
export async function* happened(run, context) {
  let after = 0;
  for (;;) {
    const growth = await get("/api/run/events", { run, after }, context);
    yield growth;
    if (!growth.has_more) return;
    after = growth.position;
  }
}

/**
 * The same, and all that comes until the view is left: a run that stopped may go on.
 *
 * `timeline` says how much is known already; `onFault` hears why nothing comes at the moment.
 */
export async function* growing(run, timeline, context, onFault) {
  if (isFile) {
    yield* happened(run, context);
    return;
  }
  while (!context.signal.aborted) {
    try {
      yield* events("/api/run/watch", { run, after: timeline.last }, context);
    } catch (error) {
      if (error.name === "AbortError") return;
      onFault(error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}
