console.log(require("node:fs").readdirSync(".").length);
