"""docs/errors.md says what the families say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the tool reads regular expressions as Python 3.11 does")
def test_the_document_is_what_the_tool_writes():
    spec = importlib.util.spec_from_file_location("torch_errors", ROOT / "tools" / "torch_errors.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == tool.document(), "python tools/torch_errors.py --write"
