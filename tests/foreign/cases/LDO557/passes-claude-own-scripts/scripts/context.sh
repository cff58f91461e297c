git log --oneline -5
