"""What the table of removed and deprecated names says of the installed torch."""

import importlib
import inspect
import warnings

import pytest
import torch

from torchlint.apis import release, table

pytestmark = pytest.mark.skipif(
    ".".join(torch.__version__.split("+")[0].split(".")[:2]) != table().releases[-1], reason="the table is of another release"
)


def resolve(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found
    return None


def test_removed_names_are_gone_or_raise():
    for name in table().removed:
        found = resolve(name)
        if found is not None:
            given = [torch.eye(2)] * len([p for p in inspect.signature(found).parameters.values() if p.default is p.empty])
            with pytest.raises(RuntimeError, match="removed"):
                found(*given)


def test_deprecated_names_are_there_and_so_is_what_to_use():
    for name, entry in table().deprecated.items():
        assert resolve(name) is not None, name
        assert not entry.instead or resolve(entry.instead) is not None, name


def test_what_everybody_knows_is_in_it():
    removed, deprecated = table().removed, table().deprecated
    assert {"torch.symeig", "torch.eig", "torch.solve", "torch.lstsq", "torch.matrix_rank", "torch.rfft", "torch._six"} <= removed.keys()
    assert removed["torch.lstsq"].instead == "torch.linalg.lstsq"
    assert release(removed["torch.rfft"].by) == (1, 8)
    assert deprecated["torch.cuda.amp.GradScaler"].instead == "torch.amp.GradScaler"
    assert release(deprecated["torch.cuda.amp.autocast"].by) == (2, 4)
    assert release(deprecated["torch.nn.init.xavier_uniform"].by) == (1, 6)
    for known in ("torch.nn.functional.relu", "torch.optim.Adam", "torch.linalg.qr", "torch.relu", "torch.stft"):
        assert known not in removed and known not in deprecated
