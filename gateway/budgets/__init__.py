"""Budgets: how many tokens and how much money each scope may use."""
