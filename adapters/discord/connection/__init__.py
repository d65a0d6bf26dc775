"""The connection to Discord: gateway sessions, REST calls, rate limits."""
