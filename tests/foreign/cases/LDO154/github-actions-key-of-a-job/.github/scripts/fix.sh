codex exec --skip-git-repo-check "Mend it."
