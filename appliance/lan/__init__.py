"""The appliance on the local network: certificate, announcement, pairing."""
