"""ConversableAgent and what belongs to it."""
