"""What is written down about a running appliance: logs, events, metrics."""
