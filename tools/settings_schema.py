"""Writes `src/torchlint/settings/schema.json`, which tells editors what settings there are:

    python tools/settings_schema.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
from torchlint.settings.keys import Settings  # noqa: E402

PLACE = ROOT / "src" / "torchlint" / "settings" / "schema.json"


def text() -> str:
    """The schema as it stands in the file."""
    made = msgspec.json.schema(Settings)
    parts = made["$defs"]
    # The settings themselves at the top and not behind a reference, which not every editor follows there.
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **parts.pop("Settings"), "$defs": parts}
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
    print(PLACE.relative_to(ROOT))
