"""From session events to what people see: pure decisions, no platform by name."""
