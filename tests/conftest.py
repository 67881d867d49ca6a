"""What holds for all tests."""

import gc
import os
from pathlib import Path

import hypothesis
import pytest

from torchlint.cli.agents import VARIABLES

# Tests say themselves who runs the command.
for name in (*VARIABLES, "TORCHLINT_OUTPUT_FORMAT", "TORCHLINT_OUTPUT_FILE", "TORCHLINT_NO_CACHE", "TORCHLINT_CACHE_DIR", "TORCHLINT_JOBS"):
    os.environ.pop(name, None)

# No test asserts on time, those with drawn inputs neither: a machine may have much else to do.
hypothesis.settings.register_profile("any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("any machine")


def _in(folder, names):
    return [f"{folder}/test_{name}.py".lstrip("/") for name in names.split()]


# The files whose tests take more than eight seconds together, on two cores: six sevenths of the time that all take.
SLOW = frozenset([
    *_in("", "examples types"),
    *_in("torchlint", "api fixtures fuzz hostile precommit rewrites"),
    *_in("torchlint/dryrun", "determinism robust scout"),
    *_in("torchlint/run", "in_part session stale"),
    *_in("torchlint/sieve", "sieve"),
    *_in("torchsan", "faults growth pages programs same_numbers surroundings watch"),
    *_in("torchsan/checks/data", "data"),
    *_in("torchsan/checks/finetuning", "hosted"),
    *_in("torchsan/checks/tensors", "memory"),
    *_in("torchsan/errors", "explain"),
    *_in("torchsan/integrations", "finetuning frameworks pytest_plugin"),
    *_in("torchsan/nonfinite", "nonfinite nonfinite_ranks origin_on_ranks"),
    *_in("torchsan/ranks", "on_ranks ranks"),
    *_in("torchsan/report", "no_steps notebook page"),
    *_in("torchsan/report", "page_moves"),
    *_in("torchsan/run", "live run shutdown"),
    *_in("torchsan/stream", "brief_patches resting_checks"),
])


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix() in SLOW:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish(session):
    _leave_aside_what_is_there()


def pytest_runtest_teardown(item, nextitem):
    if nextitem is not None and nextitem.path != item.path:
        _leave_aside_what_is_there()


def _leave_aside_what_is_there():
    """The tests themselves, what they import and what their packages keep are millions of objects: each collection, and each look
    through all objects, would go over them."""
    gc.collect()
    gc.freeze()
