// The views, in the order of the navigation. How one is written: docs/page.md.
// A file has no code of those whose `needs` it does not hold. The shell makes `others.js` of the views of extensions.

import { compare } from "./compare.js";
import { day } from "./day.js";
import { diff } from "./diff.js";
import { findings } from "./findings.js";
import { inbox } from "./inbox.js";
import { OTHERS } from "./others.js";
import { overview } from "./overview.js";
import { reach } from "./reach.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import { start } from "./start.js";
import { totals } from "./totals.js";

export const VIEWS = [day, overview, reach, diff, findings, inbox, runs, run, start, compare, ...OTHERS, totals].filter(Boolean);
