// The views of the playground: its own, and those of the page that speak of a project as it is in files.

import { diff } from "./diff.js";
import { editor } from "./editor.js";
import { home } from "./home.js";
import { overview } from "./overview.js";
import { reach } from "./reach.js";
import { session } from "./session.js";

const isOpen = { isOffered: () => session.isOpen };

export const VIEWS = [
  home,
  { ...overview, ...isOpen, home: "reach", routes: ["reach"] },
  { ...reach, ...isOpen },
  { ...diff, isOffered: () => session.sides !== null },
  editor,
];
