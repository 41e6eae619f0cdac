"""Turn-taking: the only place that commits what the user said as a turn."""
