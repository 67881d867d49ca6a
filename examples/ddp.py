"""Train on several processes with DistributedDataParallel.

    torchrun --nproc-per-node 2 examples/ddp.py

Uses one GPU a process where there are enough of them (NCCL), and CPUs otherwise (gloo).
"""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Regressor(nn.Module):
    """A small multi-layer perceptron that gives one number a row."""

    def __init__(self, features: int, width: int = 64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Dropout(0.05),
            nn.Linear(width, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).squeeze(-1)


def make_rows(count: int, features: int, seed: int) -> TensorDataset:
    """Made-up rows and a smooth function of them. The function is the same for every seed."""
    weights = torch.randn(features, generator=torch.Generator().manual_seed(1234))
    rows = torch.randn(count, features, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(rows, torch.tanh(rows @ weights))


def set_up() -> torch.device:
    """Join the process group; the device of this process."""
    local_rank = int(os.environ["LOCAL_RANK"])
    local_world_size = int(os.environ["LOCAL_WORLD_SIZE"])
    if torch.cuda.is_available() and torch.cuda.device_count() >= local_world_size:
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
        return torch.device("cuda", local_rank)
    dist.init_process_group("gloo")
    return torch.device("cpu")


def train_epoch(
    model: nn.Module, loader: DataLoader, criterion: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
) -> float:
    """One pass over this process's share of the data; the mean loss over all processes."""
    model.train()
    total = torch.zeros(2, device=device)
    for rows, target in loader:
        rows, target = rows.to(device), target.to(device)
        optimizer.zero_grad()
        loss = criterion(model(rows), target)
        loss.backward()
        optimizer.step()
        total += torch.stack([loss.detach() * len(rows), torch.tensor(float(len(rows)), device=device)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    """The mean squared error over all processes."""
    model.eval()
    total = torch.zeros(2, device=device)
    for rows, target in loader:
        rows, target = rows.to(device), target.to(device)
        total[0] += (model(rows) - target).square().sum()
        total[1] += len(rows)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32, help="rows a process and step")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, default=Path("ddp.pt"))
    return parser.parse_args()


def run(args: argparse.Namespace, device: torch.device) -> None:
    """Train, save on one process, and test the saved weights on all of them."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed + rank)

    train_data = make_rows(args.rows, args.features, args.seed)
    val_data = make_rows(512, args.features, args.seed + 1)
    train_sampler = DistributedSampler(train_data, shuffle=True, seed=args.seed, drop_last=True)
    val_sampler = DistributedSampler(val_data, shuffle=False)
    train_loader = DataLoader(train_data, batch_size=args.batch_size, sampler=train_sampler)
    val_loader = DataLoader(val_data, batch_size=256, sampler=val_sampler)

    model = Regressor(args.features).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    if rank == 0:
        print(f"{world_size} processes on {device.type}, {args.batch_size * world_size} rows a step")
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        train_loss = train_epoch(model, train_loader, criterion, optimizer, device)
        val_loss = evaluate(model, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch}  train {train_loss:.4f}  val {val_loss:.4f}")

    if rank == 0:
        torch.save(model.module.state_dict(), args.checkpoint)
    dist.barrier()  # nobody reads the file before it is written
    state = torch.load(args.checkpoint, map_location=device, weights_only=True)
    model.module.load_state_dict(state)
    loss = evaluate(model, val_loader, device)
    if rank == 0:
        print(f"the saved weights give {loss:.4f}")


def main() -> None:
    args = parse_args()
    device = set_up()
    run(args, device)
    gc.collect()  # the wrapped model is part of a cycle and holds the process group, whose threads must end before Python
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
