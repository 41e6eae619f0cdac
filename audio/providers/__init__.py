"""Recognisers and voices that live on servers, one package per protocol."""
