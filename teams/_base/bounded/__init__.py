"""Answers of servers, bounded in bytes and time before anybody understands them."""
