"""Parts that the simulators of all platforms share; no chat platform itself."""
