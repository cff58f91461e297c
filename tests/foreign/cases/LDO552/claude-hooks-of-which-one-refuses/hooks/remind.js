const fs = require("fs");

const input = fs.readFileSync(0, "utf8");
if (input.includes("push")) console.error("Mind the notes.");
process.stdout.write(input);
process.exit(0);
