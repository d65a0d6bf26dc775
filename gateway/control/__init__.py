"""Control of a running gateway: operations, Unix socket, health."""
