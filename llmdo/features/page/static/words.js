// The words for decisions, wherever one is shown.

/** Each decision and its word, the mildest first. */
export const WORDS = { allowed: "Allowed", needs_approval: "Asks", blocked: "Blocked" };

export const AFTER_STRANGERS = "After a stranger's words";

/** What the legs of the way are that such words open. */
export const LEGS = { in: "to a stranger's words", out: "to what may be done then" };

/** The same of rows, of which some are about tools that nobody has seen yet. */
export const ROW_WORDS = { unknown: "Not known", ...WORDS };
