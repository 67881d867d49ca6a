"""Train a small image classifier on made-up data, keep the best weights, and test them.

    python examples/classifier.py --epochs 5

Runs in seconds on a CPU; uses a GPU where there is one. Every image shows a bright bar on a noisy ground, and its class is
the direction of the bar, so that there is something to learn and nothing to download.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset, random_split

CLASSES = ("horizontal", "vertical", "falling", "rising")


def make_images(count: int, size: int, generator: torch.Generator) -> TensorDataset:
    """Made-up images of bars: one channel, `size` by `size`, with one of four directions as the label."""
    labels = torch.randint(len(CLASSES), (count,), generator=generator)
    offsets = torch.randint(-size // 4, size // 4 + 1, (count, 1, 1), generator=generator)
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    middle = size // 2
    distances = torch.stack([y - middle, x - middle, y - x, y + x - size + 1])
    bars = ((distances[labels] - offsets).abs() <= 1).float()
    noise = 0.6 * torch.randn(count, size, size, generator=generator)
    return TensorDataset((bars + noise).unsqueeze(1), labels)


class ConvBlock(nn.Module):
    """Convolution, batch normalisation, ReLU, and half the resolution."""

    def __init__(self, channels_in: int, channels_out: int):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)


class Classifier(nn.Module):
    """A small convolutional network that gives logits."""

    def __init__(self, classes: int, width: int = 16, depth: int = 2, dropout: float = 0.2):
        super().__init__()
        widths = [1] + [width * 2**i for i in range(depth)]
        self.blocks = nn.ModuleList(ConvBlock(a, b) for a, b in zip(widths, widths[1:]))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(self.dropout(x.mean(dim=(2, 3))))


def train_epoch(
    model: nn.Module,
    loader: DataLoader,
    criterion: nn.Module,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    device: torch.device,
) -> float:
    """One pass over the training data; the mean loss."""
    model.train()
    total = torch.zeros((), device=device)
    seen = 0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        total += loss.detach() * len(images)
        seen += len(images)
    return total.item() / seen


@torch.inference_mode()
def evaluate(model: nn.Module, loader: DataLoader, criterion: nn.Module, device: torch.device) -> tuple[float, float]:
    """The mean loss and the share of right answers."""
    model.eval()
    loss = torch.zeros((), device=device)
    right = torch.zeros((), device=device)
    seen = 0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        logits = model(images)
        loss += criterion(logits, labels) * len(images)
        right += (logits.argmax(dim=1) == labels).sum()
        seen += len(images)
    return loss.item() / seen, right.item() / seen


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--images", type=int, default=1500, help="how many images to make up")
    parser.add_argument("--size", type=int, default=20, help="height and width of an image")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, default=Path("classifier.pt"), help="where the best weights go")
    parser.add_argument("--device", type=torch.device, default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    torch.manual_seed(args.seed)
    device = args.device

    data = make_images(args.images, args.size, torch.Generator().manual_seed(args.seed))
    split = torch.Generator().manual_seed(args.seed)
    train_set, val_set, test_set = random_split(data, [0.7, 0.15, 0.15], generator=split)
    options = {"num_workers": args.workers, "pin_memory": device.type == "cuda"}
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True, **options)
    val_loader = DataLoader(val_set, batch_size=256, **options)
    test_loader = DataLoader(test_set, batch_size=256, **options)

    model = Classifier(len(CLASSES)).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    steps = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=steps)

    best = float("inf")
    for epoch in range(args.epochs):
        train_loss = train_epoch(model, train_loader, criterion, optimizer, scheduler, device)
        val_loss, val_accuracy = evaluate(model, val_loader, criterion, device)
        note = ""
        if val_loss < best:
            best = val_loss
            torch.save({"model": model.state_dict(), "epoch": epoch, "loss": val_loss}, args.checkpoint)
            note = "  best so far, saved"
        print(f"epoch {epoch}  train {train_loss:.3f}  val {val_loss:.3f}  accuracy {val_accuracy:.1%}{note}")

    checkpoint = torch.load(args.checkpoint, map_location=device, weights_only=True)
    model.load_state_dict(checkpoint["model"])
    _, accuracy = evaluate(model, test_loader, criterion, device)
    print(f"test accuracy of epoch {checkpoint['epoch']}: {accuracy:.1%}")


if __name__ == "__main__":
    main()
