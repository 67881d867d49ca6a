"""NaN on one of several ranks: that rank names the operation, and a replay says nothing to the others."""

from __future__ import annotations

import json

import pytest
import torch

import torchsan

SKIP = not (torch.distributed.is_available() and torch.distributed.is_gloo_available())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.drop = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.2)

    def forward(self, x):
        return self.drop(self.norm(self.fc(x)))


def forward(output, bad):
    return torch.log(output.square().mean() * (not bad))


def backward(output, bad):
    return torch.sqrt(output.square().sum(dim=1) * (not bad)).mean()


def work(rank, folder, loss_of):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.manual_seed(rank)
    with torchsan.watch(on_finding="collect", select="TS422,TS121") as san:
        model = torch.nn.parallel.DistributedDataParallel(Net())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            output = model(torch.randn(8, 4))
            bad = rank == 1 and step == 2
            loss = loss_of(output, bad)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if rank == 0:
        told = [(f.number, f.location.row, list(f.ranks), f.details.get("operation")) for f in san.findings]
        (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    del model, optimizer
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(SKIP, reason="torch was built without gloo")
@pytest.mark.parametrize(("loss_of", "operation"), [(forward, "log"), (backward, "div")])
def test_the_rank_that_made_it_names_it(tmp_path, loss_of, operation):
    torch.multiprocessing.spawn(work, (tmp_path, loss_of), nprocs=2)
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    row = loss_of.__code__.co_firstlineno + 1
    assert [422, row, [1], operation] in told, told
