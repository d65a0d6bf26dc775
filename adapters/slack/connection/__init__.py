"""The connection to Slack: sockets, HTTP, clients, installations."""
