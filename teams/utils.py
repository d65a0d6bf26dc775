"""Model contents as text, whole texts, and types from schemas."""

from teams._base.json_text import extract_json_from_str
from teams._base.whole_text import whole_text, whole_texts
from teams._components.json_schema import schema_to_pydantic_model
from teams.models._conversation import content_to_str, remove_images

__all__ = [
    "content_to_str",
    "extract_json_from_str",
    "remove_images",
    "schema_to_pydantic_model",
    "whole_text",
    "whole_texts",
]
