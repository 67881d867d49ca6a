"""411 of what is indexed by the result of a division."""

import pytest
import torch

from tests.torchlint.dryrun.support import holds, table

HEAD = """
table = torch.randn(8, 4)

def pick(labels, count, names, sizes={}):
    place = labels / 2
"""


def case(*lines):
    return HEAD + "".join(f"    {line}\n" for line in lines)


@table({
    "under a name": case("return table[place]  # <- 411"),
    "in the brackets": case("return table[labels / count]  # <- 411"),
    "one of two": case("return table[:, place]  # <- 411"),
    "told once": case("first = table[place]  # <- 411", "return first, table[place]"),
    "whole again": case("return table[place.long()], table[place.int().to(torch.int64)], table[int(labels / 2)]"),
    "without a rest": case("return table[labels // 2], table[labels % 2], table[torch.div(labels, 2, rounding_mode='floor')]"),
    "compared": case("return table[labels / 2 > 1]"),
    "another name since": case("place = place.floor().long()", "return table[place]"),
    "something else is asked": case("return names[place], sizes[labels / 2], names[labels / count]"),
    "perhaps": case("place = place.long() if count else place", "return table[place]"),
})
def test_quotients(code):
    holds(code)


def test_what_torch_does():
    for places in (torch.tensor([2, 4]) / 2, 4 / 2):
        with pytest.raises(IndexError):
            torch.randn(8, 4)[places]
