"""Agents and teams as tools."""
