"""Campaigns: a served process through kills and pauses, judged message by message."""
