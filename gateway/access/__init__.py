"""Access: who may write, answer and approve, and the policy for tools."""
