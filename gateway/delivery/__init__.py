"""Delivery: brings what happens in threads to chat platforms, once."""
