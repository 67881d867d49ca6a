"""The pytest plug-in, in suites of its own that run in processes of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

HELPER = """
import pytest, torch, unittest
import torch.nn.functional as F
from torch import nn

def train(model, zero=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        if zero:
            optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    """Runs a suite made of this text; gives its result and output."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for name in ("PYTEST_ADDOPTS", "TORCHSAN_OPTIONS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)

    def suite(text, *args, helper=HELPER):
        pytester.makepyfile(test_it=helper + text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return suite


def test_fixture_fails_the_test_that_has_findings(suite):
    done = suite("""
def test_wrong(torchsan):
    model = nn.Linear(4, 2)
    torchsan(model)
    train(model)

def test_right(torchsan):
    model = nn.Linear(4, 2)
    san = torchsan.watch(model, level="thorough")
    train(model, zero=True)
    assert not torchsan.findings and san.steps == 3

def test_unwatched():
    train(nn.Linear(4, 2))
""")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines([
        "*error TS101 missing-zero-grad*", "*F.cross_entropy(model*", "*^^^^*", "*= torchsan =*",
        "test_it.py:*: TS101 missing-zero-grad:*", "*test_it.py::test_wrong",
    ])


def test_option_watches_every_test(suite):
    done = suite("""
def test_plain():
    train(nn.Linear(4, 2))

class TestCase(unittest.TestCase):
    def setUp(self):
        self.model = nn.Linear(4, 2)

    def test_unit(self):
        train(self.model)

def test_nothing():
    pass

@pytest.mark.torchsan(ignore=["TS101"])
def test_ignored():
    train(nn.Linear(4, 2))

def test_both(torchsan):
    model = nn.Linear(4, 2)
    torchsan(model)
    train(model)
""", "--torchsan")
    done.assert_outcomes(passed=2, failed=3)
    assert done.stdout.str().count("TS101 missing-zero-grad:") == 1
    done.stdout.fnmatch_lines(["*::test_plain", "*::TestCase::test_unit", "*::test_both"])


def test_models_of_wider_fixtures(suite):
    done = suite("""
@pytest.fixture(scope="module")
def model():
    return nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))

def test_first(model):
    pass

def test_second(model):
    assert len(model._forward_hooks) == 1

@pytest.fixture
def own():
    return nn.Linear(4, 2)

def test_own(own):
    train(own)
""", "--torchsan")
    done.assert_outcomes(passed=2, failed=1)


def test_marker(suite):
    done = suite("""
@pytest.mark.torchsan
def test_marked():
    train(nn.Linear(4, 2))

@pytest.mark.torchsan(select=["TS2"])
class TestAll:
    def test_selected(self):
        train(nn.Linear(4, 2))

    @pytest.mark.torchsan(select="TS101")
    def test_nearest_counts(self):
        train(nn.Linear(4, 2))
""", "--strict-markers")
    done.assert_outcomes(passed=1, failed=2)


@pytest.mark.parametrize(("mark", "said"), [
    ("(level='deep')", "level='deep' is none of default, thorough, memory"),
    ("(ignor=['TS1'])", "no option 'ignor'; there are select, ignore, level, extend_rules"),
    ("('TS1')", "options go by their names"),
])
def test_wrong_markers(suite, mark, said):
    done = suite(f"@pytest.mark.torchsan{mark}\ndef test_it(): pass\n")
    done.assert_outcomes(errors=1)
    assert f"@pytest.mark.torchsan: {said}" in done.stdout.str()


def test_a_test_that_fails_by_itself_shows_findings_too(suite):
    done = suite("""
@pytest.mark.torchsan
def test_it():
    train(nn.Linear(4, 2))
    assert 1 == 2

@pytest.mark.torchsan
def test_error():
    nn.Linear(5, 2)(torch.randn(8, 4))
""")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*assert 1 == 2*", "*- torchsan -*", "*error TS101*"])
    assert "torchsan: TS508 shape-chain" in done.stdout.str()


def test_set_up_that_fails_leaves_nothing_behind(suite):
    done = suite("""
@pytest.fixture
def bad():
    raise OSError

@pytest.mark.torchsan
def test_bad(bad):
    pass

def test_after():
    from torchsan.stream import events
    assert not events.listening()
    assert torch.nn.Module.zero_grad.__code__.co_filename == torch.nn.Module.train.__code__.co_filename
""")
    done.assert_outcomes(passed=1, errors=1)


def test_many_tests_with_one_mistake_are_one_entry(suite):
    done = suite("""
@pytest.mark.parametrize("n", range(5))
def test_it(n):
    train(nn.Linear(4, 2))
""", "--torchsan")
    done.stdout.fnmatch_lines(["*test_it[[]2]", "    and 2 tests more"])


def test_findings_come_back_from_xdist(suite):
    pytest.importorskip("xdist")
    done = suite("""
@pytest.mark.parametrize("n", range(2))
def test_it(n):
    train(nn.Linear(4, 2))
""", "--torchsan", "-n", "2")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*= torchsan =*", "*TS101 missing-zero-grad*"])
    # Which of the two workers is heard first differs from run to run.
    done.stdout.fnmatch_lines_random(["    *test_it[[]0]", "    *test_it[[]1]"])


def test_a_suite_without_torch_pays_nothing(suite):
    done = suite("""
import sys

def test_it():
    loaded = [name for name in sys.modules if name.split(".")[0] in ("torch", "torchlint", "msgspec", "rich")]
    assert not loaded
    assert sorted(name for name in sys.modules if name.startswith("torchsan")) == ["torchsan", "torchsan.integrations", "torchsan.integrations.pytest_plugin"]
""", "-p", "no:hypothesispytest", helper="")
    done.assert_outcomes(passed=1)


def test_option_without_torch(suite, pytester):
    pytester.makeconftest("")
    pytester.makepyfile(hide="import importlib.util\nfind = importlib.util.find_spec\n"
                        "importlib.util.find_spec = lambda name, *_: None if name == 'torch' else find(name)\n"
                        "import torchsan.integrations.pytest_plugin as plugin\nplugin.find_spec = importlib.util.find_spec\n")
    pytester.syspathinsert()
    done = suite("def test_it(): pass", "-p", "hide", "--torchsan", helper="")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "--torchsan needs torch" in done.stderr.str()
