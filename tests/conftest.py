"""What holds for all tests."""

import os

from torchlint.cli.agents import VARIABLES

# Tests say themselves who runs the command.
for name in (*VARIABLES, "TORCHLINT_OUTPUT_FORMAT", "TORCHLINT_OUTPUT_FILE", "TORCHLINT_NO_CACHE", "TORCHLINT_CACHE_DIR", "TORCHLINT_JOBS"):
    os.environ.pop(name, None)
