npm ci
cp "$ROOT_WORKTREE_PATH/.env" .env
