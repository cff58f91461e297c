// The views, in the order of the navigation. How one is written: docs/page.md.

import { diff } from "./diff.js";
import { overview } from "./overview.js";
import { reach } from "./reach.js";

export const VIEWS = [overview, reach, diff];
