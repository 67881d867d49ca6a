"""What apex gives back and binds is what it was given: a model, an optimizer, a loss."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from apex import amp


def main(loader, fixed):
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(), nn.Linear(8, 2)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    {made}
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x.cuda()), y.cuda())
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        total += {added}
    {after}
    print(total)
"""
MADE = {
    "both": "net, optimizer = amp.initialize(net, optimizer, opt_level='O1')",
    "by name": "net, optimizer = amp.initialize(models=net, optimizers=optimizer)",
    "the model alone": "net = amp.initialize(net, opt_level='O2')",
    "in lists": "(net,), (optimizer,) = amp.initialize([net], [optimizer])",
}


def program(made=MADE["both"], added="loss.item()", after="pass"):
    return PROGRAM.format(made=made, added=added, after=after)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_loss_that_apex_scales_keeps_its_graph(made):
    holds(program(made))
    holds(program(made, added="loss  # <- 106"))


def test_the_optimizer_that_apex_gives_back_is_the_one_that_it_was_given():
    scheduler = "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)"
    holds(program(f"{scheduler}  # <- 110\n    {MADE['both']}"))
    holds(program(f"{scheduler}\n    {MADE['both']}", after="scheduler.step()"))


def test_a_loss_that_goes_backward_on_two_ways_is_told_once():
    both = """
import torch
import torch.nn as nn
from apex import amp


def main(net, loader, args):
    optimizer = torch.optim.Adam(net.parameters())
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = criterion(net(x).flatten(0, 1), y.flatten()) / args.k
        if args.half:
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()  # <- 007
        else:
            loss.backward()
        if (i + 1) % args.k == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
"""
    holds(both)
