git fetch origin
gh issue list --json title,body
