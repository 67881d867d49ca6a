"""What is known of a tensor that one expression makes of either of two values."""

from types import SimpleNamespace

import pytest

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
