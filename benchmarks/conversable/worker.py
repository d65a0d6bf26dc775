"""`worker.py MODULE URL`: measure on request, with JSON lines in and out.

Requests: {"do": "check" or "measure", "scenario": name}.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import warnings

from benchmarks.conversable.scenarios import SCENARIOS


def main() -> None:
    """Until the input ends."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    engine, url = importlib.import_module(sys.argv[1]), sys.argv[2]
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        scenario = SCENARIOS[request["scenario"]](engine, url)
        done = scenario.checked() if request["do"] == "check" else scenario.measure()
        out.write(json.dumps(done) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
