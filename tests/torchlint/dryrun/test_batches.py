"""Sizes of data: through datasets and their parts, loaders and what puts batches together, NumPy, old constructors, indexing."""

import pytest

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import numpy as np
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

x, y = torch.randn(64, 4), torch.randn(64)
head = nn.Linear(4, 1)

class Rows(Dataset):
    def __init__(self, count):
        self.x, self.y = torch.randn(count, 4), torch.randn(count)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]

class Named(Dataset):
    def __init__(self, count):
        self.x, self.y = np.random.rand(count, 4), np.zeros(count)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": torch.tensor(self.x[index]).float(), "y": torch.tensor(self.y[index]).float(), "name": str(index)}

def stacked(samples):
    return torch.stack([sample["x"] for sample in samples]), torch.stack([sample["y"] for sample in samples])

class Odd(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.randn(4), torch.randn(1)
"""
LOADERS = {
    "TensorDataset": "for a, b in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):",
    "a part": "for a, b in DataLoader(random_split(TensorDataset(x, y), [60, 4])[0], batch_size=8, shuffle=True):",
    "Subset": "for a, b in DataLoader(Subset(Rows(64), [1, 2, 3]), batch_size=8, shuffle=True):",
    "ConcatDataset": "for a, b in DataLoader(ConcatDataset([Rows(3), Rows(5)]), batch_size=8, shuffle=True):",
    "a class": "for a, b in DataLoader(Rows(64), batch_size=8, shuffle=True):",
    "enumerate": "for step, (a, b) in enumerate(DataLoader(Rows(64), batch_size=8, shuffle=True)):",
    "a collate function": "for a, b in DataLoader(Named(64), batch_size=8, shuffle=True, collate_fn=stacked):",
    "a lambda": "for a, b in DataLoader(Named(64), batch_size=8, collate_fn=lambda samples: stacked(samples)):",
    "split": "for a, b in zip(x.split(8), y.split(8)):",
    "slices": "for a, b in [(x[i : i + 8], y[i : i + 8]) for i in range(0, 64, 8)]:",
    "a permutation": "for a, b in [(x[torch.randperm(64)], y[torch.randperm(64)])]:",
    "lists": "for a, b in [(torch.tensor([[1.0, 2.0, 3.0, 4.0] for _ in range(9)]), torch.tensor([1.0 for _ in range(9)]))]:",
    "old constructors": "for a, b in [(torch.Tensor([[1, 2, 3, 4], [5, 6, 7, 8]]), torch.FloatTensor([1, 2]))]:",
    "NumPy": "for a, b in [(torch.from_numpy(np.random.rand(9, 4)).float(), torch.as_tensor(np.zeros(9)).float())]:",
}


@pytest.mark.parametrize("loop", LOADERS.values(), ids=LOADERS)
def test_a_column_meets_a_row(loop):
    holds(f"{HEAD}\ndef run():\n    {loop}\n        F.mse_loss(head(a), b)  # <- 309\n")
    holds(f"{HEAD}\ndef run():\n    {loop}\n        F.mse_loss(head(a).squeeze(1), b)\n")


@table({
    "a dict": """
def run():
    for batch in DataLoader(Named(64), batch_size=8, shuffle=True):
        F.mse_loss(head(batch["x"]), batch["y"])  # <- 309
""",
    "the order of a part of a dataset": """
def run(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train, held_out = random_split(TensorDataset(x, y), [60, 4])
    loader = DataLoader(train, batch_size=8)  # <- 603
    for epoch in range(3):
        for a, b in loader:
            optimizer.zero_grad()
            F.mse_loss(model(a).squeeze(1), b).backward()
            optimizer.step()
""",
    "batches of a size that is told elsewhere": """
def run(args):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True):
        F.mse_loss(head(a), b)  # <- 309
""",
    "single samples, perhaps": """
def run(whole):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=None if whole else 8):
        F.mse_loss(head(a), b)
""",
    "single samples": """
def run():
    for a, b in DataLoader(TensorDataset(x, y), batch_size=None):
        F.mse_loss(head(a), b)
""",
    "a target that is a column already": """
def run():
    for a, b in DataLoader(Odd(), batch_size=8, shuffle=True):
        F.mse_loss(head(a), b)
    F.mse_loss(head(x), y.view(-1, 1))
    F.mse_loss(head(x)[:, 0], y)
""",
    "numbers alone": """
def run():
    F.mse_loss(head(x), torch.ones(1))
    F.mse_loss(head(x).mean(), torch.tensor(0.0))
    F.mse_loss(torch.randn(8, 3), torch.randn(3))
""",
    "one row of two for a batch": """
def run():
    F.mse_loss(torch.randn(8, 3), torch.randn(1, 3))  # <- 309
""",
    "a weight": """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 3))

    def forward(self, x):
        return self.weight @ x.view(4, 2)  # <- 508
""",
    "what a classifier gives": """
import torchvision

def run():
    net = torchvision.models.resnet18(num_classes=1)
    other = torchvision.models.resnet50(weights="DEFAULT")
    other.fc = nn.Linear(2048, 1)
    third = torchvision.models.vgg16()
    third.classifier[6] = nn.Linear(4096, 1)
    images, truth = torch.randn(9, 3, 64, 64), torch.randn(9)
    F.mse_loss(net(images), truth)  # <- 309
    F.mse_loss(other(images), truth)  # <- 309
    F.mse_loss(third(images), truth)
""",
    "a model is called with batches of several sizes": """
class Same(nn.Module):
    def forward(self, x):
        return x * 2

def run():
    same = Same()
    for (a,) in DataLoader(TensorDataset(torch.randn(64, 1)), batch_size=8, shuffle=True):
        F.mse_loss(same(a), torch.randn(8))  # <- 309
    for (a,) in DataLoader(TensorDataset(torch.randn(64)), batch_size=8, shuffle=True):
        F.mse_loss(same(a), torch.randn(8))
""",
    "what max gives": """
def run():
    best, where = nn.Linear(4, 3)(x).max(1)
    F.mse_loss(best, torch.randn(64, 1))  # <- 309
    F.mse_loss(best, y)
""",
    "what __getitem__ does is no part of the loop": """
class Scaled(Rows):
    def __getitem__(self, index):
        self.loss = F.mse_loss(torch.randn(3, 1), torch.randn(3))  # <- 309
        return torch.randn(4), torch.randn(1)

def run():
    for a, b in DataLoader(Scaled(8), batch_size=8, shuffle=True):
        F.mse_loss(head(a), b)
""",
})
def test_sizes(code):
    holds(HEAD + code)
