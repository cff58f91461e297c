const { execFileSync } = require("node:child_process");

console.log(String(execFileSync("./answer", ["allow"])));
