const { answer } = require("./lib/missing");

answer("allow");
