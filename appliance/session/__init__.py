"""What a configuration becomes: ears, mouth and mind, loaded once and composed into sessions."""
