"""Base parts without a domain: clock, calendar, paths, logging, redaction."""
