"""Credentials for services."""
