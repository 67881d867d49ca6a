"""What the table of removed and deprecated names says of the installed torch."""

import importlib
import inspect
import warnings

import pytest
import torch

from torchlint.catalogue.apis import arguments, keywords, release, table

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
    assert release(deprecated["torch.nn.init.xavier_uniform"].by) == (0, 4)
    for known in ("torch.nn.functional.relu", "torch.optim.Adam", "torch.linalg.qr", "torch.relu", "torch.stft"):
        assert known not in removed and known not in deprecated


def made_with(name, word):
    """Calls something with one keyword, for what it says."""
    found = resolve(name)
    owner = (torch.ones(2, 2),) if name.startswith("torch.Tensor.") else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found(*owner, **{word: None})


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, words in arguments().gone.items() for word in words])
def test_keywords_that_went_are_refused(name, word):
    with pytest.raises(TypeError, match=rf"keyword.*{word}"):
        made_with(name, word)


@pytest.mark.parametrize("name", [
    "torch.nn.LSTM", "torch.nn.Linear", "torch.optim.Adam", "torch.utils.data.DataLoader",
    "torch.nn.functional.max_pool2d", "torch.Tensor.backward", "torch.nn.utils.clip_grad_norm_",
])
def test_a_keyword_that_nobody_knows_is_refused(name):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        made_with(name, "no_such_word")


def test_keywords_that_everybody_uses_are_known():
    for name, words in {
        "torch.nn.LSTM": "input_size hidden_size num_layers batch_first bidirectional proj_size",
        "torch.nn.RNN": "nonlinearity",
        "torch.nn.Conv2d": "in_channels padding_mode bias device dtype",
        "torch.nn.CrossEntropyLoss": "size_average reduce label_smoothing weight",
        "torch.sum": "input dim axis keepdim keepdims dtype",
        "torch.Tensor.sum": "dim axis keepdim keepdims dtype",
        "torch.randn": "size out generator dtype device requires_grad pin_memory names",
        "torch.nn.functional.max_pool2d": "kernel_size stride return_indices",
        "torch.linalg.norm": "ord dim keepdim",
        "torch.nn.parallel.DistributedDataParallel": "device_ids find_unused_parameters",
        "torch.Tensor.backward": "gradient retain_graph create_graph",
        "torch.autograd.Variable": "data requires_grad volatile",
    }.items():
        assert set(words.split()) <= keywords(name), name
    anything = "load nn.Identity nn.Module utils.checkpoint.checkpoint"
    for name in (f"torch.{word}" for word in anything.split()):
        assert keywords(name) is None, name


def test_numpy_names_are_taken():
    assert torch.sum(torch.ones(2, 3), axis=0, keepdims=True).shape == (1, 3)
    assert torch.add(x1=torch.ones(2), x2=torch.ones(2)).sum() == 4
