#!/bin/bash
set -e
gh auth status || gh auth login
git fetch origin
git rebase origin/main
git push -u origin "$(git branch --show-current)"
gh pr create --title "$1" --body "$2"
