"""Benchmarks: Parley against AutoGen 0.7.5, and against its own budgets. See docs/benchmarks/."""
