"""Tools for every day, with the sentences that call them: time, sums, units, timers, lists, notes, conversation control."""
