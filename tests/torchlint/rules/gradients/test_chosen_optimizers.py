"""103 and 202 where an option chooses what is trained, or a forward takes steps of its own through `higher`."""

from tests.torchlint.dryrun.support import holds

CHOSEN = """from parts import *
import torch
from torch import nn


def train(steps=1000):
    if kind == "both":
        linear = nn.Linear(4, 1)
        first = nn.LSTM(8, 4)
        optimizer = torch.optim.Adam(first.parameters())
    elif kind == "other":
        optimizer = torch.optim.Adam(second.parameters())
    optimizer.add_param_group({"params": linear.parameters()})
    for i in range(steps):
        optimizer.zero_grad()
        if kind == "both":
            batch = loader.next_batch((64, batch[0].shape[1], 4))
            before, state = first(events)
            series = torch.reshape(series, [-1, 4, 4])
            after, state = second(series)
            seen = before
        elif kind == "other":
            seen = after
        elif way == "time":
            time_loss = torch.abs(torch.reshape(linear(seen), [-1]) - y[:, 1])
        criterion = torch.nn.BCEWithLogitsLoss(reduction="none")
        mark_loss = criterion(scores, marks)
        total = torch.mean(mark_loss + 0.1 * time_loss)
        total.backward()
        optimizer.step()
"""
UNROLLED = """
import torch
import torch.nn as nn
import torch.nn.functional as F
{imports}


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Linear(8, 1)

    def forward(self, x):
        y = torch.zeros(len(x), 4, requires_grad=True)
        inner = {inner}
        for _ in range(5):
            y, = inner.step(self.energy(torch.cat([x, y], 1)).sum(), params=[y])
        return y


def main(train_loader, test_loader):
    model = Unrolled()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(9):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        right = 0
        for x, y in test_loader:
            right += (model(x).argmax(1) == y).sum().item(){mark}
        print(right)
"""


def test_an_option_chooses_the_optimizer_and_what_the_loss_comes_out_of():
    holds(CHOSEN)


def test_a_forward_that_differentiates_by_higher():
    given = "torch.optim.SGD([y], lr=0.1), [y]"
    holds(UNROLLED.format(imports="import higher", inner=f"higher.get_diff_optim({given})", mark=""))
    holds(UNROLLED.format(imports="import lower", inner=f"lower.get_optim({given})", mark="  # <- 202"))
