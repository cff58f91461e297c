"""Who answers the questions of a run, what is shown to them, and answers that come later."""
