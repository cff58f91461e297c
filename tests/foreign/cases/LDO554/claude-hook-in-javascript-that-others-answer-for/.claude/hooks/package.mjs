import { answer } from "claude-answers";

answer("allow");
