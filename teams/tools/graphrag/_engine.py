"""GraphRAG's own engines over an index on disk; importing this imports GraphRAG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from graphrag.config.models.graph_rag_config import GraphRagConfig
from graphrag.prompts.query.global_search_reduce_system_prompt import NO_DATA_ANSWER
from graphrag.query.indexer_adapters import (
    read_indexer_communities,
    read_indexer_entities,
    read_indexer_relationships,
    read_indexer_reports,
    read_indexer_text_units,
)
from graphrag.query.structured_search.global_search.community_context import (
    GlobalCommunityContext,
)
from graphrag.query.structured_search.global_search.search import GlobalSearch
from graphrag.query.structured_search.local_search.mixed_context import LocalSearchMixedContext
from graphrag.query.structured_search.local_search.search import LocalSearch
from graphrag_common.config import load_config
from graphrag_llm.completion import create_completion
from graphrag_llm.embedding import create_embedding
from graphrag_llm.tokenizer import Tokenizer
from graphrag_vectors import IndexSchema, VectorStoreConfig, create_vector_store

from teams.tools.graphrag._config import (
    GlobalContextConfig,
    GlobalDataConfig,
    LocalContextConfig,
    LocalDataConfig,
    MapReduceConfig,
    SearchConfig,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NO_DATA_ANSWER"]

VECTORS = "entity_description"
"""The index of the entities' vectors."""

_FOLDERS = {
    "input_storage": "input",
    "output_storage": "output",
    "update_output_storage": "update_output",
    "reporting": "logs",
}


class _Encoder(Tokenizer):
    """An encoding of tiktoken, or anything with `encode` and `decode`."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def encode(self, text: str) -> list[int]:
        return self._encoding.encode(text)

    def decode(self, tokens: list[int]) -> str:
        return self._encoding.decode(tokens)


def load_settings(root_dir: str | Path, config_filepath: str | Path | None) -> GraphRagConfig:
    """The settings, with paths below the root."""
    # GraphRAG itself would change the folder of the whole process.
    root = Path(root_dir).resolve()

    def settings(**given: Any) -> GraphRagConfig:
        for section, usual in _FOLDERS.items():
            table = cast("dict[str, Any]", given.setdefault(section, {}))
            table["base_dir"] = str(root / (table.get("base_dir") or usual))
        vectors = cast("dict[str, Any]", given.setdefault("vector_store", {}))
        vectors["db_uri"] = str(root / (vectors.get("db_uri") or "output/lancedb"))
        return GraphRagConfig(**given)

    return load_config(settings, config_filepath or root, set_cwd=False)


def completion_model(config: GraphRagConfig, search: Any) -> Any:
    """The model that answers. Raises ValueError for none."""
    usual = (search.completion_model_id, "default_chat_model")
    return create_completion(_settings(config.completion_models, *usual))


def embedding_model(config: GraphRagConfig, search: Any) -> Any:
    """The model that makes vectors. Raises ValueError for none."""
    return create_embedding(_settings(config.embedding_models, search.embedding_model_id))


def _settings(models: Mapping[str, Any], *names: str) -> Any:
    found = next((models[name] for name in names if name in models), None)
    if found is None:
        raise ValueError(f"GraphRAG's settings have no model {' or '.join(names)}.")
    return found


def vector_store_of(input_dir: str) -> VectorStoreConfig:
    """GraphRAG's usual store beside the tables."""
    schema = {VECTORS: IndexSchema(index_name=VECTORS)}
    return VectorStoreConfig(db_uri=str(Path(input_dir) / "lancedb"), index_schema=schema)


def global_engine(
    encoder: Any,
    model: Any,
    data: GlobalDataConfig,
    context: GlobalContextConfig,
    answer: MapReduceConfig,
) -> GlobalSearch:
    """The engine of a global search; reads the tables."""
    level = data.community_level
    communities, reports = _table(data, "community"), _table(data, "community_report")
    tokenizer = _tokenizer(encoder, model)
    parameters = context.model_dump(exclude={"max_data_tokens"})
    return GlobalSearch(
        model=model,
        context_builder=GlobalCommunityContext(
            community_reports=read_indexer_reports(reports, communities, level),
            communities=read_indexer_communities(communities, reports),
            entities=read_indexer_entities(_table(data, "entity"), communities, level),
            tokenizer=tokenizer,
        ),
        tokenizer=tokenizer,
        max_data_tokens=context.max_data_tokens,
        map_llm_params=_arguments(answer.map_max_tokens, answer.map_temperature),
        reduce_llm_params=_arguments(answer.reduce_max_tokens, answer.reduce_temperature),
        allow_general_knowledge=answer.allow_general_knowledge,
        json_mode=False,  # with True, GraphRAG 3.3 passes the same argument twice
        context_builder_params={
            **parameters,
            "max_context_tokens": context.max_data_tokens,
            "context_name": "Reports",
        },
        response_type=answer.response_type,
    )


def local_engine(
    encoder: Any,
    model: Any,
    embedder: Any,
    data: LocalDataConfig,
    context: LocalContextConfig,
    answer: SearchConfig,
    vectors: VectorStoreConfig,
) -> LocalSearch:
    """The engine of a local search; reads the tables."""
    level = data.community_level
    communities, reports = _table(data, "community"), _table(data, "community_report")
    store = create_vector_store(vectors, vectors.index_schema[VECTORS])
    store.connect()
    tokenizer = _tokenizer(encoder, model)
    parameters = context.model_dump(exclude={"max_data_tokens"})
    return LocalSearch(
        model=model,
        context_builder=LocalSearchMixedContext(
            community_reports=read_indexer_reports(reports, communities, level),
            text_units=read_indexer_text_units(_table(data, "text_unit")),
            entities=read_indexer_entities(_table(data, "entity"), communities, level),
            relationships=read_indexer_relationships(_table(data, "relationship")),
            entity_text_embeddings=store,
            text_embedder=embedder,
            tokenizer=tokenizer,
        ),
        tokenizer=tokenizer,
        model_params=_arguments(answer.max_tokens, answer.temperature),
        context_builder_params={**parameters, "max_context_tokens": context.max_data_tokens},
        response_type=answer.response_type,
    )


def _tokenizer(encoder: Any, model: Any) -> Tokenizer:
    if encoder is None:
        return model.tokenizer
    return encoder if isinstance(encoder, Tokenizer) else _Encoder(encoder)


def _arguments(max_tokens: int, temperature: float) -> dict[str, Any]:
    return {"max_tokens": max_tokens, "temperature": temperature}


def _table(data: GlobalDataConfig | LocalDataConfig, name: str) -> pd.DataFrame:
    import pandas as pd  # not before it is known that GraphRAG is here

    path = Path(data.input_dir) / f"{getattr(data, f'{name}_table')}.parquet"
    if not path.exists():
        raise ValueError(f"GraphRAG's index has no {path}: build it with `graphrag index`.")
    return pd.read_parquet(path)
