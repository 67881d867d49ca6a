"""Train in mixed precision, with gradient accumulation and clipping, on a GPU or a CPU.

    python examples/amp.py --dtype bfloat16
    python examples/amp.py --dtype float16 --accumulate 4

float16 has a narrow range, so its loss is scaled before the backward pass; bfloat16 needs no scaler, and a disabled
scaler passes everything through, so that one loop serves both.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

VOCABULARY = 32


class CopyModel(nn.Module):
    """A small transformer encoder that gives one logit a token of the vocabulary at each position."""

    def __init__(self, length: int, width: int = 64, heads: int = 4, depth: int = 2):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.tokens(tokens) + self.positions))


def make_sequences(count: int, length: int, seed: int) -> TensorDataset:
    """Made-up sequences whose target is the same sequence read backwards."""
    tokens = torch.randint(VOCABULARY, (count, length), generator=torch.Generator().manual_seed(seed))
    return TensorDataset(tokens, tokens.flip(1))


def groups(loader: DataLoader, size: int) -> Iterator[list[list[Tensor]]]:
    """The loader's batches in lists of `size`; the last list may be shorter."""
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def train_epoch(
    model: nn.Module,
    loader: DataLoader,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    args: argparse.Namespace,
) -> float:
    """One pass over the data; the mean loss."""
    model.train()
    total, steps = 0.0, 0
    for group in groups(loader, args.accumulate):
        group_loss = torch.zeros((), device=args.device)
        for tokens, target in group:
            tokens = tokens.to(args.device, non_blocking=True)
            target = target.to(args.device, non_blocking=True)
            with torch.autocast(args.device.type, dtype=args.dtype):
                logits = model(tokens)
                loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(group)
            scaler.scale(loss).backward()
            group_loss += loss.detach()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        total += group_loss.item()
        steps += 1
    return total / steps


def evaluate(model: nn.Module, loader: DataLoader, args: argparse.Namespace) -> float:
    """The share of tokens that are right."""
    model.eval()
    right, seen = 0, 0
    with torch.inference_mode(), torch.autocast(args.device.type, dtype=args.dtype):
        for tokens, target in loader:
            target = target.to(args.device)
            guess = model(tokens.to(args.device)).argmax(dim=-1)
            right += (guess == target).sum().item()
            seen += target.numel()
    return right / seen


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    parser.add_argument("--accumulate", type=int, default=2, help="batches to each optimizer step")
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradients")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--sequences", type=int, default=1024)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", type=torch.device, default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    args.dtype = getattr(torch, args.dtype)
    return args


def main() -> None:
    args = parse_args()
    torch.manual_seed(args.seed)
    pin = args.device.type == "cuda"
    train_data = make_sequences(args.sequences, args.length, args.seed)
    val_data = make_sequences(256, args.length, args.seed + 1)
    train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True, pin_memory=pin)
    val_loader = DataLoader(val_data, batch_size=256, pin_memory=pin)

    model = CopyModel(args.length).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scaler = torch.amp.GradScaler(args.device.type, enabled=args.dtype == torch.float16)

    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, optimizer, scaler, args)
        accuracy = evaluate(model, val_loader, args)
        print(f"epoch {epoch}  loss {loss:.3f}  accuracy {accuracy:.1%}  scale {scaler.get_scale():g}")


if __name__ == "__main__":
    main()
