// Amounts, times and states of runs in words.

/** The word and the tone of each state of a run or a call. */
const TONES = {
  completed: "allowed",
  success: "allowed",
  running: "running",
  open: "needs_approval",
  waiting: "needs_approval",
  truncated: "needs_approval",
  unsure: "needs_approval",
  interrupted: "needs_approval",
  retried: "needs_approval",
  stopped: "blocked",
  failed: "blocked",
  denied: "blocked",
  refused: "blocked",
  error: "blocked",
};

export function toneOf(state) {
  return TONES[state] ?? "running";
}

const WORDS = { success: "done", open: "not ended", denied: "denied", error: "error", retried: "told to retry" };

export function wordOf(state) {
  return WORDS[state] ?? state;
}

export function seconds(number) {
  if (number === null || number === undefined) return "";
  if (number < 0) return "0 s";
  if (number < 10) return `${number.toFixed(2)} s`;
  if (number < 60) return `${number.toFixed(1)} s`;
  const whole = Math.round(number);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A time as a person speaks of it: `12 s`, `3 min` or `5 h`. */
export function span(number) {
  if (number < 120) return `${Math.round(number)} s`;
  return number < 7200 ? `${Math.round(number / 60)} min` : `${Math.round(number / 3600)} h`;
}

export function money(amount) {
  if (amount === null || amount === undefined) return "";
  const number = Number(amount);
  return number && number < 0.01 ? `$${number.toFixed(5)}` : `$${number.toFixed(2)}`;
}

export function tokens(input, output) {
  if (input === null || output === null) return "";
  return `${input.toLocaleString("en")} + ${output.toLocaleString("en")}`;
}

/** A time in the zone of whoever looks; `at` in seconds since 1970, or as ISO 8601. */
export function moment(at) {
  const date = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  return date.toLocaleString("sv-SE"); // 2026-11-23 14:05:09
}

export function ago(at) {
  const past = Math.max(0, Date.now() / 1000 - at);
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return `${Math.floor(past / 86400)} d ago`;
}
