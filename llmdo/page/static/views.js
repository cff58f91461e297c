// The views, in the order of the navigation. How one is written: docs/page.md.

import { diff } from "./diff.js";
import { inbox } from "./inbox.js";
import { overview } from "./overview.js";
import { reach } from "./reach.js";
import { run } from "./run.js";
import { runs } from "./runs.js";

export const VIEWS = [overview, reach, diff, inbox, runs, run];
