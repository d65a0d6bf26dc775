"""The engine against AutoGen 0.7.5: the same scripts on both, each in a process of its own.

`api`, `scenarios` and `worker` run in AutoGen's environment, too: they import nothing of Parley's.
"""
