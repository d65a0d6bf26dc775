"""Where conversations stand on Discord: channels, threads, and the answers to commands."""
