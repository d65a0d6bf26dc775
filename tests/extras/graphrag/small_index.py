"""A small index as GraphRAG 3 writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COMMUNITY: dict[str, Any] = {
    "id": "c0",
    "human_readable_id": 0,
    "community": 0,
    "level": 0,
    "parent": -1,
    "children": [],
    "title": "Community 0",
    "entity_ids": ["e0", "e1"],
    "relationship_ids": ["r0"],
    "text_unit_ids": ["t0"],
    "period": "2026-01-01",
    "size": 2,
}
ENTITIES: list[dict[str, Any]] = [
    {
        "id": f"e{number}",
        "human_readable_id": number,
        "title": title,
        "type": "PERSON",
        "description": description,
        "text_unit_ids": ["t0"],
        "frequency": 1,
        "degree": 1,
    }
    for number, (title, description) in enumerate(
        [("MOMO", "Momo listens."), ("BEPPO", "Beppo sweeps the street.")]
    )
]
REPORT: dict[str, Any] = {
    "id": "p0",
    "human_readable_id": 0,
    "community": 0,
    "level": 0,
    "parent": -1,
    "children": [],
    "title": "Momo and her friends",
    "summary": "Friends of a girl.",
    "full_content": "Momo and Beppo are friends.",
    "rank": 7.0,
    "rating_explanation": "",
    "findings": [],
    "full_content_json": "{}",
    "period": "2026-01-01",
    "size": 2,
}
RELATIONSHIP: dict[str, Any] = {
    "id": "r0",
    "human_readable_id": 0,
    "source": "MOMO",
    "target": "BEPPO",
    "description": "Beppo is a friend of Momo.",
    "weight": 1.0,
    "combined_degree": 2,
    "text_unit_ids": ["t0"],
}
TEXT: dict[str, Any] = {
    "id": "t0",
    "human_readable_id": 0,
    "text": "Beppo tells Momo about his work.",
    "n_tokens": 7,
    "document_id": "d0",
    "entity_ids": ["e0", "e1"],
    "relationship_ids": ["r0"],
    "covariate_ids": [],
}


def write_index(folder: Path) -> None:
    """Write the tables and the vectors of the entities."""
    import pandas as pd  # of GraphRAG's environment
    from graphrag_vectors import IndexSchema, VectorStoreDocument
    from graphrag_vectors.lancedb import LanceDBVectorStore

    folder.mkdir(parents=True)
    tables = {
        "communities": [COMMUNITY],
        "community_reports": [REPORT],
        "entities": ENTITIES,
        "relationships": [RELATIONSHIP],
        "text_units": [TEXT],
    }
    for name, rows in tables.items():
        pd.DataFrame(rows).to_parquet(folder / f"{name}.parquet")
    schema = IndexSchema(index_name="entity_description", vector_size=3)
    store = LanceDBVectorStore(db_uri=str(folder / "lancedb"), **schema.model_dump())
    store.connect()
    store.create_index()
    store.load_documents(
        [
            VectorStoreDocument(id=entity["id"], vector=[1.0, number / 2, 0.5])
            for number, entity in enumerate(ENTITIES)
        ]
    )
