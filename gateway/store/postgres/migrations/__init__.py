"""Numbered steps to later versions of the store on PostgreSQL."""
