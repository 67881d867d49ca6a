"""Tell what a person is doing from windows of wearable-sensor readings: pretrain on many activities, tune on a few."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

CHANNELS = 6  # three axes of an accelerometer, three of a gyroscope


def make_windows(count, classes, length=20):
    """Made-up readings: every activity has its own rhythm and its own axis."""
    labels = torch.randint(classes, (count,))
    time = torch.arange(length).float()
    wave = torch.sin(time * (1 + labels).unsqueeze(1) * 0.4)
    readings = 2.0 * torch.randn(count, length, CHANNELS)
    readings[torch.arange(count), :, labels % CHANNELS] += 9.81 * wave
    return TensorDataset(readings, labels)


class ActivityNet(nn.Module):
    def __init__(self, classes, length=20, width=64, depth=3, dropout=0.3):
        super().__init__()
        self.dropout = dropout
        self.scale = torch.tensor([9.81, 9.81, 9.81, 4.0, 4.0, 4.0])
        self.stem = nn.Sequential(nn.Flatten(), nn.Linear(length * CHANNELS, width))
        self.norm = nn.BatchNorm1d(width)
        self.blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)]
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.norm(self.stem(x / self.scale))
        for block in self.blocks:
            x = x + block(x)
        x = F.dropout(x, self.dropout)
        return self.head(x).softmax(dim=-1)


def validate(model, loader, device):
    model.eval()
    torch.no_grad()
    right = total = 0
    for readings, labels in loader:
        guess = model(readings.to(device)).argmax(dim=-1)
        right += (guess.cpu() == labels).sum().item()
        total += len(labels)
    return right / total


def train(model, train_loader, val_loader, optimizer, device, epochs):
    criterion = nn.CrossEntropyLoss()
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    best_accuracy, best_state = 0.0, None

    model.train()
    for epoch in range(epochs):
        running_loss = 0.0
        scheduler.step()
        for readings, labels in train_loader:
            readings, labels = readings.to(device), labels.to(device)
            optimizer.zero_grad
            loss = criterion(model(readings), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running_loss += loss

        accuracy = validate(model, val_loader, device)
        if accuracy > best_accuracy:
            best_accuracy, best_state = accuracy, model.state_dict()
        print(f"epoch {epoch}: loss {running_loss / len(train_loader):.3f}, accuracy {accuracy:.1%}")
    return best_state


def make_loaders(count, classes, batch_size):
    train_set, val_set = random_split(make_windows(count, classes), [0.8, 0.2])
    return DataLoader(train_set, batch_size, shuffle=True, drop_last=True), DataLoader(val_set, batch_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    model = ActivityNet(classes=12).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train(model, *make_loaders(2000, 12, args.batch_size), optimizer, device, args.epochs)

    model.head = nn.Linear(64, 4).to(device)
    train_loader, val_loader = make_loaders(600, 4, args.batch_size)
    best_state = train(model, train_loader, val_loader, optimizer, device, args.epochs)

    model = model.load_state_dict(best_state)
    torch.save(model, "activities.pt")


if __name__ == "__main__":
    main()
