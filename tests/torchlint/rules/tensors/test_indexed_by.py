"""401: a tensor on the CPU is indexed by one on the GPU."""

import pytest
import torch

from tests.torchlint.dryrun.support import holds, table

HEAD = """
def measure(loader, names):
    net = nn.Linear(4, 4).cuda()
    table = torch.arange(4)
    for x, y in loader:
        with torch.no_grad():
            scores = net(x.cuda())
"""


def case(*lines):
    return HEAD + "".join(f"            {line}\n" for line in lines)


@table({
    "places of the largest": case("print(table[scores.argmax(1)])  # <- 401"),
    "places and values": case("best, guess = scores.max(1)", "print(table[guess])  # <- 401"),
    "by the function": case("best, guess = torch.max(scores, dim=1)", "print(table[guess])  # <- 401"),
    "a mask": case("right = scores.argmax(1).cpu().eq(y).float()", "print(right[scores.argmax(1) != 0])  # <- 401"),
    "one of two": case("counts = torch.zeros(4, 4)", "counts[y, scores.argmax(1)] += 1  # <- 401"),
    "moved by hand": case("print(table[y.cuda()])  # <- 401"),
    "brought back": case("print(table[scores.argmax(1).cpu()], names[scores.argmax(1)])"),
    "the other way round": case("print(scores[y], scores[table], scores[y.cuda()])"),
    "numbers may lie anywhere": case("for one in scores.argmax(1):", "    print(table[one], table[one.long()], table[one.item()])"),
    "slices and lists": case("print(table[:2], table[[0, 1]], table[0], y[scores.argmax(1) == y.cuda()])"),
})
def test_indexed_by(code):
    holds(code)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_what_torch_does():
    table, places = torch.arange(4), torch.tensor([1, 2], device="cuda")
    with pytest.raises(RuntimeError, match="indices should be either on cpu"):
        table[places]
    assert table[places[0]] == 1
    assert table.cuda()[places.cpu()].tolist() == [1, 2]
