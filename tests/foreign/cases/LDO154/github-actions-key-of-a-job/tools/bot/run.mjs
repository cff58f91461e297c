import "./agent.mjs";
