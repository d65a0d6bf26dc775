"""Control of a running gateway: Unix socket, in-process client, health."""
