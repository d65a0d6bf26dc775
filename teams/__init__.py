"""Teams of agents: an independent implementation of the AutoGen AgentChat API."""
