"""Questions of the display stack in words: how each is asked, and what an answer in plain language means."""
