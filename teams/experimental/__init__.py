"""Parts whose behaviour may still change."""
