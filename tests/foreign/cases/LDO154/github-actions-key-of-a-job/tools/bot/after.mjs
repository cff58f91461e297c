import "./report.mjs";
