"""One file knows what is below procrastinate's public surface."""

from hashlib import sha256
from pathlib import Path

from procrastinate.schema import SchemaManager

ROOT = Path(__file__).parents[4]
KNOWN = "c70ec4b400a60ad9592787653aae5ae77ae41bf801d56b5bd2712751a07f2009"
"""The hash of the schema by which `jobs.py` was written."""


def test_its_schema_is_the_known_one():
    said = (
        "procrastinate has another schema. Read what has changed, hold jobs.py against it,"
        " add an upgrade for stores that have the older one, and note its hash here."
    )
    assert sha256(SchemaManager.get_schema().encode()).hexdigest() == KNOWN, said


def test_one_file_knows_it():
    files = [*ROOT.glob("gateway/**/*.py"), *ROOT.glob("gateway/**/*.sql")]
    knows = [path for path in files if "procrastinate" in path.read_text()]
    assert [str(path.relative_to(ROOT)) for path in knows] == ["gateway/store/postgres/jobs.py"]
