"""Model contents as text, and types from JSON schemas."""

from teams._base.json_text import extract_json_from_str
from teams._components.json_schema import schema_to_pydantic_model
from teams.models._conversation import content_to_str, remove_images

__all__ = ["content_to_str", "extract_json_from_str", "remove_images", "schema_to_pydantic_model"]
