"""822 where the processes exchange something between the forward and the test: what is asked for, or something else."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from helpers import reduce_dict

def train(model, criterion, loader, rank):
    model = DistributedDataParallel(model.to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        parts = criterion(model(x.to(rank)), y.to(rank))
        loss = sum(parts.values())
        {exchange}
        if {test}:
            continue
        optimizer.zero_grad()
        loss.backward(){mark}
        optimizer.step()
"""
REDUCED = "reduced = reduce_dict(parts)"
MARK = "  # <- 822"


@table({
    "what is only shown is exchanged": TRAIN.format(exchange=REDUCED, test="torch.isnan(loss)", mark=MARK),
    "they wait for the GPU": TRAIN.format(exchange="torch.cuda.synchronize()", test="torch.isnan(loss)", mark=MARK),
    "what was exchanged is asked for": TRAIN.format(exchange=REDUCED, test="torch.isnan(reduced['loss'])", mark=""),
    "a number of it": TRAIN.format(
        exchange=REDUCED + "\n        value = sum(reduced.values()).item()", test="not math.isfinite(value)", mark=""),
    "in place": TRAIN.format(exchange="bad = torch.isnan(loss).float()\n        dist.all_reduce(bad)", test="bad.sum() > 0", mark=""),
    "who knows what it does": TRAIN.format(
        exchange="with reduce_dict(parts):\n            parts.clear()", test="torch.isnan(loss)", mark=""),
})
def test_what_is_exchanged(code):
    holds(code)


@table({
    "a loss of nothing": TRAIN.format(exchange="pass", test="loss == 0", mark=MARK),
    "as a bool": TRAIN.format(exchange="pass", test="bool(loss == 0.0)", mark=MARK),
    "as a number": TRAIN.format(exchange="pass", test="loss.item() == 0", mark=MARK),
    "which loss it is": TRAIN.format(exchange="pass", test="loss_kind == 0", mark=""),
    "a setting": TRAIN.format(exchange="pass", test="settings.loss == 0", mark=""),
    "its name": TRAIN.format(exchange="pass", test="loss == 'none'", mark=""),
})
def test_a_loss_of_zero(code):
    holds(code)
