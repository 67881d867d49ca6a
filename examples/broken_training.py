"""A training run that ends without an error and is wrong all the same: something for torchsan to watch.

    torchsan run examples/broken_training.py
    torchsan run examples/broken_training.py --silent-sensor

With --silent-sensor one row of the data is all zeros, and after some steps the loss is not a number any more.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 5


def make_rows(count: int, features: int, seed: int) -> TensorDataset:
    """Made-up rows around one centre a class."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(CLASSES, features, generator=torch.Generator().manual_seed(99))
    labels = torch.randint(CLASSES, (count,), generator=generator)
    return TensorDataset(centres[labels] + 0.8 * torch.randn(count, features, generator=generator), labels)


class UnitLength(nn.Module):
    """Each row divided by its length."""

    def forward(self, x: Tensor) -> Tensor:
        return x / x.norm(dim=1, keepdim=True)


class Network(nn.Module):
    """A multi-layer perceptron over rows of unit length."""

    def __init__(self, features: int, width: int = 64, depth: int = 2):
        super().__init__()
        self.inputs = nn.Sequential(UnitLength(), nn.Linear(features, width), nn.BatchNorm1d(width))
        self.hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.dropout = nn.Dropout(0.3)
        self.output = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.inputs(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return torch.softmax(self.output(self.dropout(x)), dim=1)


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> float:
    """One pass over the training data; the mean loss."""
    model.train()
    total = 0.0
    for rows, labels in loader:
        loss = F.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model: nn.Module, loader: DataLoader) -> float:
    """The share of right answers."""
    right, seen = 0, 0
    for rows, labels in loader:
        right += (model(rows).argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    return right / seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--silent-sensor", action="store_true", help="one row of the training data is all zeros")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_data = make_rows(args.rows, args.features, args.seed)
    if args.silent_sensor:
        train_data.tensors[0][args.rows // 2] = 0.0
    train_loader = DataLoader(train_data, batch_size=64, shuffle=True)
    val_loader = DataLoader(make_rows(256, args.features, args.seed + 1), batch_size=64)

    model = Network(args.features)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, optimizer)
        print(f"epoch {epoch}  loss {loss:.3f}  accuracy {validate(model, val_loader):.1%}")


if __name__ == "__main__":
    main()
