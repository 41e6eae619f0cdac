"""What several tests need: a scripted room on virtual time."""
