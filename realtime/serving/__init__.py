"""This machine as a realtime provider: OpenAI Realtime sessions over what hears, thinks and speaks here."""
