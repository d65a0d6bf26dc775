"""Tables, contexts and answers of a search."""

from __future__ import annotations

from pydantic import BaseModel


class _DataConfig(BaseModel, defer_build=True):
    input_dir: str
    entity_table: str = "entities"
    entity_embedding_table: str = "entities"
    community_table: str = "communities"
    community_report_table: str = "community_reports"
    community_level: int = 2


class GlobalDataConfig(_DataConfig):
    """The folder of an index, and the names of its tables."""


class LocalDataConfig(_DataConfig):
    """The same, with the tables of a local search."""

    relationship_table: str = "relationships"
    text_unit_table: str = "text_units"


class GlobalContextConfig(BaseModel, defer_build=True):
    """The share of the community reports that a model reads."""

    max_data_tokens: int = 12_000
    use_community_summary: bool = False
    shuffle_data: bool = True
    include_community_rank: bool = True
    min_community_rank: int = 0
    community_rank_name: str = "rank"
    include_community_weight: bool = True
    community_weight_name: str = "occurrence weight"
    normalize_community_weight: bool = True


class LocalContextConfig(BaseModel, defer_build=True):
    """The share of entities, relationships and texts that a model reads."""

    max_data_tokens: int = 8_000
    text_unit_prop: float = 0.5
    community_prop: float = 0.25
    include_entity_rank: bool = True
    rank_description: str = "number of relationships"
    include_relationship_weight: bool = True
    relationship_ranking_attribute: str = "rank"


class MapReduceConfig(BaseModel, defer_build=True):
    """The answers to parts, and their one answer.

    GraphRAG 3 always asks for the parts' answers in JSON, whatever `json_mode` says.
    """

    map_max_tokens: int = 1_000
    map_temperature: float = 0.0
    reduce_max_tokens: int = 2_000
    reduce_temperature: float = 0.0
    allow_general_knowledge: bool = False
    json_mode: bool = False
    response_type: str = "multiple paragraphs"


class SearchConfig(BaseModel, defer_build=True):
    """The answer of a local search."""

    max_tokens: int = 1_500
    temperature: float = 0.0
    response_type: str = "multiple paragraphs"
