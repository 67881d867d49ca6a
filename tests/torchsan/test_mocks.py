"""The program's own mocks do not break a watch, and a watch does not call them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from torchsan import own

NAMES = [
    "time.time", "time.monotonic", "time.perf_counter", "time.sleep", "os.path.exists", "os.path.isfile", "os.getcwd",
    "os.getpid", "os.fspath", "os.makedirs", "os.path.dirname", "os.path.basename", "os.path.relpath", "os.path.abspath",
    "builtins.open", "json.dumps", "json.dump", "json.loads", "pathlib.Path.exists", "pathlib.Path.read_text",
    "pathlib.Path.write_text", "pathlib.Path.mkdir", "linecache.getline", "linecache.getlines", "inspect.getsource",
    "inspect.signature", "inspect.getsourcelines", "gc.collect", "gc.get_objects", "threading.get_ident", "math.sqrt",
    "math.isfinite", "torch.stack", "torch.cat", "torch.equal", "torch.no_grad", "torch.isfinite", "torch.where",
    "torch._foreach_norm", "torch.get_rng_state", "torch.is_inference_mode_enabled",
    "torch.cuda.is_available", "re.compile", "random.random", "functools.partial", "statistics.median",
    "ast.parse", "tokenize.open", "copy.deepcopy", "logging.getLogger", "warnings.warn", "socket.gethostname",
]


def train(model, steps=6, zero=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("name", NAMES)
def test_one_mock(name, capsys):
    """Put in the place of a function while a watch runs, and gone before it ends; it fails where anybody calls it."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    with torchsan.watch(model, on_finding="collect") as san:
        with mock.patch(name, side_effect=AssertionError(f"{name} is mocked")) as mocked:
            train(model)
    calls = mocked.call_count
    assert [f.code for f in san.findings] == ["TS101"], san.report()
    assert not san.off, san.off
    with mock.patch(name) as mocked:
        train(model)
    assert calls <= mocked.call_count


@pytest.mark.parametrize("name, value", [
    ("builtins.open", mock.mock_open()), ("os.path.exists", mock.Mock(return_value=True)),
    ("torch.cuda.is_available", mock.Mock(return_value=True)), ("torch.cuda.is_initialized", mock.Mock(return_value=True)),
    ("torch.distributed.is_initialized", mock.Mock(return_value=True)), ("time.monotonic", mock.Mock(return_value=0.0)),
    ("torch.distributed.get_world_size", mock.Mock(return_value=8)), ("os.getpid", mock.Mock(return_value=1)),
])
def test_a_mock_that_stands_for_the_whole_watch(name, value):
    """It lies: there is no CUDA, and there are no other processes."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    with mock.patch(name, value), torchsan.watch(model, on_finding="collect") as san:
        train(model)
    assert [f.code for f in san.findings] == ["TS101"], san.report()
    assert not san.off, san.off


def test_what_is_mocked_when_we_come_to_it_is_not_kept(monkeypatch):
    monkeypatch.delitem(vars(own), "random", raising=False)
    with mock.patch("random.random", return_value=2.0):
        kept = own.random
        assert kept.random() == 2.0
    assert kept.random() < 1.0


def test_what_is_not_called_is_the_real_ones(monkeypatch):
    monkeypatch.setenv("TORCHSAN_TEST", "1")
    assert own.os.environ["TORCHSAN_TEST"] == "1" and own.math.pi == math.pi
    assert own.torch.float32 is torch.float32 and own.torch.nn is nn
    assert own.real(own.torch.cuda) is torch.cuda and own.real(torch.Tensor) is torch.Tensor


def test_nothing_of_a_watch_takes_them_from_elsewhere():
    """Besides what runs before the program or between it and a framework, and a probe that replaces torch's own."""
    source = Path(torchsan.__file__).parent
    free = {source / "options.py", source / "own.py", source / "probes" / "scripts.py"}
    free |= {*source.glob("integrations/*.py"), *(source / "run" / f"{name}.py" for name in ("cli", "enough", "launch"))}
    word = re.compile(rf"^import ({'|'.join(own.NAMES)})$", re.M)
    assert not {path.name: found for path in source.rglob("*.py") if path not in free and (found := word.findall(path.read_text()))}
