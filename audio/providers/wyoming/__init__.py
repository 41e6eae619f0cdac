"""Any service that speaks Wyoming, the protocol of Home Assistant's voice services: recogniser, voice, wake word."""
