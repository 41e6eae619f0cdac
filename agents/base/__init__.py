"""The ground every floor stands on: errors, abort, clock, emitter, scope, back-off, credentials, weights."""
