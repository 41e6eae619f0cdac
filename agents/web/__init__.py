"""Agents for browsers and programs over HTTP: a model proxy, agents on the server, stores, and the client's modules."""
