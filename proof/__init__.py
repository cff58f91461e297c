"""What llmdo proves of teams, proved of llmdo: in the small by trying every team, by programs that share no code."""
