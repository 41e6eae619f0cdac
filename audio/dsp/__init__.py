"""Signal processing on the capture path: echo cancellation, the reference it needs, half duplex, and level meters."""
