"""The appliance: command line, configuration, conversations from files and pipes, health."""
