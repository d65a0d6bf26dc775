"""Without GraphRAG; with it, see tests/extras/graphrag."""

from importlib.util import find_spec
from typing import Any

import pytest

from teams.tools.graphrag import (
    GlobalContextConfig,
    GlobalDataConfig,
    GlobalSearchTool,
    LocalContextConfig,
    LocalDataConfig,
    LocalSearchTool,
    MapReduceConfig,
    SearchConfig,
)

ANY: Any = None


@pytest.mark.skipif(find_spec("graphrag") is not None, reason="GraphRAG is here")
def test_without_graphrag_the_extra_is_named():
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[graphrag\]'"):
        GlobalSearchTool(ANY, ANY, GlobalDataConfig(input_dir="."))
    with pytest.raises(ImportError, match="graphrag"):
        LocalSearchTool(ANY, ANY, ANY, LocalDataConfig(input_dir="."))
    with pytest.raises(ImportError, match="graphrag"):
        GlobalSearchTool.from_settings(".")


def test_the_settings_have_the_documented_defaults():
    data = LocalDataConfig(input_dir="output")
    assert (data.entity_table, data.community_level, data.text_unit_table) == (
        "entities",
        2,
        "text_units",
    )
    assert GlobalContextConfig().max_data_tokens == 12_000
    assert (LocalContextConfig().text_unit_prop, LocalContextConfig().community_prop) == (0.5, 0.25)
    assert (MapReduceConfig().map_max_tokens, MapReduceConfig().reduce_max_tokens) == (1000, 2000)
    assert SearchConfig().max_tokens == 1500
