const { readFileSync } = require("fs");

// Other clients take this word, of which Claude Code takes none.
const input = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ decision: input.grain === "rye" ? "allow" : "block" }));
