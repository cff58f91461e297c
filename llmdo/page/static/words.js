// The words for decisions, wherever one is shown.

/** Each decision and its word, the mildest first. */
export const WORDS = { allowed: "Allowed", needs_approval: "Asks", blocked: "Blocked" };
