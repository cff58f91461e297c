// The words for decisions, wherever one is shown.

/** Each decision and its word, the mildest first. */
export const WORDS = { allowed: "Allowed", needs_approval: "Asks", blocked: "Blocked" };

/** The same of rows, of which some are about tools that nobody has seen yet. */
export const ROW_WORDS = { unknown: "Not known", ...WORDS };
