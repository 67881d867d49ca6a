"""001 and 002 in a run: what the labels of a language model are, beside its tokens."""

import pytest

pytest.importorskip("transformers")

PROGRAM = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
END = 0
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=30, n_positions=16,
                                   bos_token_id=END, eos_token_id=END))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(8):
    ids, mask = torch.full((4, 12), END), torch.zeros(4, 12, dtype=torch.long)
    for row, length in enumerate(torch.randint(5, 11, (4,)).tolist()):
        ids[row, :length] = torch.randint(1, 30, (length,))
        mask[row, : length + 1] = 1
    {labels}
    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss{mark}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def lines(run, labels, mark=""):
    ran = run(PROGRAM.format(labels=labels, mark=mark))
    assert ran.error is None
    return {one for one in ran.lines if one[0] in (1, 2)}, {one for one in ran.marked}


@pytest.mark.parametrize(("labels", "number"), [
    ("labels = ids.masked_fill(ids == END, -100)", 1),
    ("labels = ids.roll(-1, 1).masked_fill(mask.roll(-1, 1) == 0, -100)", 2),
])
def test_told(run, labels, number):
    found, marked = lines(run, labels, f"  # <- {number:03d}")
    assert found == marked and found


@pytest.mark.parametrize("labels", [
    "labels = ids.masked_fill(mask == 0, -100)",  # by where the padding is
    "labels = ids.clone()",
    "labels = ids.masked_fill(ids == END, -100); mask = mask * (ids != END)",  # the texts have no mark to learn
    "labels = ids.masked_fill(ids == END, -100); labels[0] = ids[0]",
    "labels = torch.full_like(ids, -100)",
])
def test_silent(run, labels):
    assert not lines(run, labels)[0]
