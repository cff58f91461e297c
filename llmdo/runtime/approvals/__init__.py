"""The approvers of a run, the drawing of their questions, and answers that come later."""
