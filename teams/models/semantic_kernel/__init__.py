"""Clients of Semantic Kernel; using them needs the extra `semantic-kernel`."""

from teams.models.semantic_kernel._adapter import SKChatCompletionAdapter

__all__ = ["SKChatCompletionAdapter"]
