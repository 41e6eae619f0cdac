"""Any server that speaks OpenAI's transcriptions and speech: OpenAI itself, and servers of your own."""
