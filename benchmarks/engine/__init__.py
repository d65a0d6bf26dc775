"""The engine against AutoGen 0.7.5: the same scripts in separate processes.

`api`, `scenarios` and `worker` run in AutoGen's environment, too: they import nothing of Parley's.
"""
