// The words for decisions, wherever one is shown.

/** Each decision and its word, the mildest first. */
export const WORDS = { allowed: "Allowed", needs_approval: "Asks", blocked: "Blocked" };

export const AFTER_STRANGERS = "After a stranger's words";

/** What the legs of the way are that such words open. */
export const LEGS = { in: "to a stranger's words", out: "to what may be done then" };

/** The same of rows, of which some are about tools that nobody has seen yet. */
export const ROW_WORDS = { unknown: "Not known", ...WORDS };

/** The dangers, the highest first. Colour stands for them, never for permission: a shell that nobody is asked about is red. */
export const DANGER_WORDS = { high: "red: any program, unasked", medium: "amber: some harm, or asked", low: "green: only reads", none: "grey: cannot happen" };

export function dangerClass(danger) {
  return `danger-${danger}`;
}

export function worstOf(dangers) {
  return Object.keys(DANGER_WORDS).find((each) => dangers.includes(each)) ?? "none";
}

/** The danger of a step on the way to a row: of a gate that of what asks or is blocked, else that of the row. */
export function stepDanger(decision, row) {
  return { needs_approval: "medium", blocked: "none" }[decision] ?? row.danger;
}
