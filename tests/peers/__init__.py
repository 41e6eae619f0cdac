"""Real peers: programs that the appliance talks to in the field, started for the tests."""
