import "./pack.js";
