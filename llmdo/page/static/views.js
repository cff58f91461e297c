// The views, in the order of the navigation. How one is written: docs/page.md.
// A file has no code of those whose `needs` it does not hold.

import { batch, batches } from "./batches.js";
import { compare } from "./compare.js";
import { diff } from "./diff.js";
import { evals, evaluation } from "./evals.js";
import { fleet } from "./fleet.js";
import { inbox } from "./inbox.js";
import { overview } from "./overview.js";
import { reach } from "./reach.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import { totals } from "./totals.js";

export const VIEWS = [overview, reach, diff, inbox, runs, run, compare, batches, batch, evals, evaluation, fleet, totals].filter(Boolean);
