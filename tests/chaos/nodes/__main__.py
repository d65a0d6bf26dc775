"""One run: `python -m tests.chaos.nodes --seed 7`; `--long` has all faults."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.chaos.nodes.run import run_nodes
from tests.fakes.postgres_server import PostgresServer


def main() -> int:
    """Run the seed; 1 if there was a violation."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos.nodes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--long", action="store_true", help="all faults instead of three")
    parser.add_argument("--folder", type=Path, help="where to leave the nodes' folders")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="nodes-"))
    folder.mkdir(parents=True, exist_ok=True)
    with PostgresServer() as server:
        result = asyncio.run(
            run_nodes(options.seed, folder, server, nodes=options.nodes, long=options.long)
        )
    print(result.explain())
    print(f"Files: {folder}")
    return 0 if result.verdict else 1


if __name__ == "__main__":
    sys.exit(main())
