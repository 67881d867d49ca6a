"""What is known of a tensor that one expression makes of either of two values."""

from types import SimpleNamespace

import pytest

from tests.torchlint.dryrun.support import holds
from torchlint.dryrun.values import NOTHING, Const, Opaque, Tensor, join

PLACE = SimpleNamespace(node=object())
WHOLE = Opaque("x", "param")


def transposed(*dims, act=None, name="transpose"):
    return Tensor("", "op", PLACE, NOTHING, NOTHING, WHOLE, {"layout": (name, [Const(dim) for dim in dims]), "graph": act})


@pytest.mark.parametrize(("other", "kept"), [
    (transposed(0, 1, act=True), True), (transposed(0, 2, act=True), False), (transposed(0, 1, act=True, name="permute"), False),
    (transposed(0, act=True), False),
])
def test_how_it_lies_if_it_lies_so_in_any_case(other, kept):
    joined = join(transposed(0, 1), other)
    assert ("layout" in joined.traits) is kept
    assert "graph" not in joined.traits


MOVED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.MaxPool2d(2), nn.Linear(8 * {side} * {side}, 2)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        return self.out(x.view(x.size(0), -1)){mark}

net, x = Net(), torch.randn(4, 3, 32, 32)
if torch.cuda.is_available():
    {moved}
net(x)
"""


@pytest.mark.parametrize(("side", "moved", "mark"), [
    (32, "net, x = net.cuda(), x.cuda()", "  # <- 508"), (16, "net, x = net.cuda(), x.cuda()", ""), (32, "x = torch.randn(4, 3, 64, 64)", ""),
])
def test_the_sizes_of_what_is_moved_where_that_is_possible(side, moved, mark):
    holds(MOVED.format(side=side, moved=moved, mark=mark))


@pytest.mark.parametrize("change", ["x.resize_(images.size())", "x.data.resize_(images.size()).copy_(images)", "x.data = images"])
@pytest.mark.parametrize("before", ["pass", "x = x.cuda() if flag else x"])
def test_other_sizes_in_its_place(change, before):
    holds(f"def run(images, flag):\n    x = torch.zeros(64, 784)\n    {before}\n    {change}\n    return nn.Conv2d(1, 2, 3)(x)\n")
