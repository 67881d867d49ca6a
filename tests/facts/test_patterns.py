"""What torchlint says of the patterns of einsum and einops is what they say themselves."""

import pytest

from torchlint.dryrun.torch_api.shapes import ANY, Shape
from torchlint.rules.shared.einsum_patterns import einops_problem, einsum_problem

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")

SQUARE, MATRIX, OTHER, CUBE, NUMBER = (2, 2), (2, 3), (3, 4), (5, 2, 3), ()
EINSUM = [
    ("ij,jk->ik", MATRIX, OTHER),
    ("ij,jk", MATRIX, OTHER),
    ("ij,jk->ikl", MATRIX, OTHER),
    ("ij->ii", MATRIX),
    ("ij,jk->ik", MATRIX),
    ("ij->ji", MATRIX, OTHER),
    ("i j -> j i", MATRIX),
    ("ij1->ij", MATRIX),
    ("i..j->ij", MATRIX),
    ("...i...->i", MATRIX),
    ("ij->...ij", MATRIX),
    ("ij->j->i", MATRIX),
    ("ijk->ij", MATRIX),
    ("...ijk->ij", MATRIX),
    ("...j->j", MATRIX),
    ("...ij->ij", MATRIX),
    ("ij,kj->ik", MATRIX, OTHER),
    ("IJ->JI", MATRIX),
    ("i_j->ij", MATRIX),
    ("", NUMBER),
    (",->", NUMBER, NUMBER),
    ("ij,->ij", MATRIX, NUMBER),
    ("ij- >ji", MATRIX),
    ("ij=ji", MATRIX),
    ("ii->i", MATRIX),
    ("ii->i", SQUARE),
    ("ii", SQUARE),
    ("...ij,...jk->ik", CUBE, OTHER),
    ("bij,jk->bik", CUBE, OTHER),
    ("ij->ij", CUBE),
    ("ij,ij->ij", (2, 1), MATRIX),
]


@pytest.mark.parametrize(("pattern", "sizes"), [(pattern, sizes) for pattern, *sizes in EINSUM])
def test_einsum(pattern, sizes):
    problem = einsum_problem(pattern, [Shape(size, False) for size in sizes])
    operands = [torch.ones(size) for size in sizes]
    if problem is None:
        torch.einsum(pattern, *operands)
    else:
        with pytest.raises(RuntimeError):
            torch.einsum(pattern, *operands)


def test_einsum_of_operands_that_are_not_known():
    assert einsum_problem("ij,jk->ik", None) is None
    assert einsum_problem("ij,jk->ik", [ANY, Shape((None, 4))]) is None
    assert "3 or more" in einsum_problem("ij->ji", [Shape((1, 2, 3))])
    assert einsum_problem("...ij->ji", [Shape((1, 2, 3))]) is None


# Function, pattern, names of the lengths that are given, whether einops 0.8 takes it for a tensor of (2, 6, 4).
EINOPS = [
    ("rearrange", "b (h w) c -> b c h w", "", False),
    ("rearrange", "b (h w) c -> b c h w", "h", True),
    ("rearrange", "b n c -> b c", "", False),
    ("rearrange", "b n c -> b c n d", "", False),
    ("rearrange", "b n c -> b c (n)", "", True),
    ("rearrange", "b n b -> b n b", "", False),
    ("rearrange", "b n c -> b c n", "h", False),
    ("rearrange", "b n c - > b c n", "", False),
    ("rearrange", "b n c", "", False),
    ("rearrange", "b n -> n b", "", False),
    ("rearrange", "... c -> c ...", "", True),
    ("rearrange", "b ... -> b", "", False),
    ("rearrange", "b n c -> (b n c", "", False),
    ("rearrange", "b n) c -> b n c", "", False),
    ("rearrange", "b ((h w) c) n -> b n h w c", "h w", False),
    ("rearrange", "b n c 1 -> b n c", "", False),
    ("rearrange", "b n c -> b 1 n c", "", True),
    ("rearrange", "b n c -> b 2 n c", "", False),
    ("rearrange", "b n _c -> b n _c", "", False),
    ("rearrange", "b n, c -> b c n", "", False),
    ("rearrange", "b 1c n -> b n 1c", "", False),
    ("rearrange", "b n c->b c n", "", True),
    ("rearrange", "b n c -> b n c -> b", "", False),
    ("rearrange", "... (h w) -> ... h w", "h", True),
    ("rearrange", "b n c -> b (...) c", "", False),
    ("rearrange", "b (...) c -> b ... c", "", False),
    ("rearrange", "b \u2026 c -> b c \u2026", "", True),
    ("repeat", "b n c -> b n c d", "", False),
    ("repeat", "b n c -> b n c d", "d", True),
    ("repeat", "b n c -> b n", "", False),
    ("repeat", "b n c -> b n c 2", "", True),
    ("repeat", "b n c -> b n c n", "", False),
    ("reduce", "b n c -> b c", "", True),
    ("reduce", "b n c -> b c d", "", False),
    ("reduce", "b n c -> b c", "n", True),
    ("reduce", "b n c -> b c", "d", False),
    ("reduce", "b (n m) c -> b n c", "", False),
    ("reduce", "b (n 2) c -> b n c", "", True),
    ("einsum", "b n c, b c d", "", False),
    ("einsum", "b n c, b c d -> b n e", "", False),
    ("einsum", "b n c, b c d -> b b", "", False),
    ("einsum", "bnc, bcd -> bnd", "", False),
    ("einsum", "b n c -> b n", "", True),
    ("einsum", "b n c, b c d -> b n d", "", None),
]
LENGTHS = {"h": 2, "w": 3, "d": 2, "n": 6}


@pytest.mark.parametrize(("function", "pattern", "lengths", "right"), EINOPS)
def test_einops(function, pattern, lengths, right):
    shapes = [Shape((2, 6, 4), False)] if right is not None else None
    problem = einops_problem(function, pattern, lengths.split(), shapes)
    assert (problem is None) == (right is not False), problem


@pytest.mark.parametrize(
    ("function", "pattern", "lengths", "right"), [case for case in EINOPS if case[3] is not None]
)
def test_einops_itself(function, pattern, lengths, right):
    einops = pytest.importorskip("einops")
    x, given = torch.ones(2, 6, 4), {name: LENGTHS[name] for name in lengths.split()}
    calls = {
        "reduce": lambda: einops.reduce(x, pattern, "mean", **given),
        "einsum": lambda: einops.einsum(x, pattern),
    }
    call = calls.get(function, lambda: getattr(einops, function)(x, pattern, **given))
    if right:
        call()
    else:
        with pytest.raises((einops.EinopsError, ValueError, RuntimeError)):
            call()


def test_lengths_that_come_out_of_a_dict():
    assert einops_problem("rearrange", "b (h w) c -> b h w c", None, None) is None
    assert einops_problem("repeat", "b -> b n", None, None) is None
