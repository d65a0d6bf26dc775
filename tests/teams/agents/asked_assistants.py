"""Assistants with scripted models, and their tools."""

from pydantic import BaseModel


async def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


async def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


class City(BaseModel):
    name: str
    degrees: int
