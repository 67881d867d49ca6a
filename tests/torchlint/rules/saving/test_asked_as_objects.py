"""901 of files of which something is asked that no weights have."""

import collections

import pytest
import torch

from tests.torchlint.dryrun.support import holds, table
from torchlint.catalogue.plain_attributes import is_plain

READ = """
def start(net, path, fast):
    {load}
    {body}
"""


def read(*body, load="other = torch.load(path)  # <- 901"):
    return READ.format(load=load, body="\n    ".join(body))


SILENT = "other = torch.load(path)"


@table({
    "a method of its own": read("net.take(other.sample_weights(4))"),
    "an attribute": read("net.take(other.stem, other.W)"),
    "forgotten afterwards": read("net.take(other.stem)", "del other"),
    "read under a switch": read("return net", load="if fast:\n        other = torch.load(path)  # <- 901\n        net.take(other.stem)"),
    "tensors": read("return other.shape, other.T, other.add_(1), other.untyped_storage()", load=SILENT),
    "a dict": read("return other.items(), other.get('net'), other.most_common(3)", load=SILENT),
    "asked first what it is": read("if isinstance(other, Table):", "    return other.stem", load=SILENT),
    "asked whether it has it": read("stem = other.stem if hasattr(other, 'stem') else other", load=SILENT),
    "another one by then": read("other = wrap(other)", "return other.stem", load=SILENT),
    "another one in a comprehension": read("return [other.stem for other in net.others]", load=SILENT),
    "another one elsewhere": read("return other.stem", load="other = net.other\n    if fast:\n        other = torch.load(path)"),
    "in a function of its own": read("return lambda other: other.stem", load=SILENT),
    "as one may fail": read("try:", "    return other.stem", "except AttributeError:", "    return other", load=SILENT),
    "other types are allowed": read("return other.stem", load="torch.serialization.add_safe_globals([Table])\n    other = torch.load(path)"),
    "as it is": read("return other.stem", load="other = torch.load(path, weights_only=False)"),
    "of a package that allows its own": "from torch_geometric.data import Data\n" + read("return other.train_mask_of", load=SILENT),
})
def test_asked_as_object(code):
    holds(code)


@pytest.mark.parametrize("kind", [
    torch.Tensor, torch.nn.Parameter, torch.UntypedStorage, torch.FloatStorage, torch.Size, torch.dtype, torch.device, collections.Counter, dict, str,
])
def test_plain_attributes(kind):
    assert [name for name in dir(kind) if not is_plain(name)] == []


def test_what_is_not_plain():
    assert not any(map(is_plain, ("sample_weights", "encoder", "vocabulary", "state_dict", "conv1")))
