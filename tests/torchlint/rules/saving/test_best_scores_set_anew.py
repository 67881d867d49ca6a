"""905 where the best score of a checkpoint is set to a number again in front of the training."""

from tests.torchlint.dryrun.support import holds, table

SCRIPT = """
import argparse
import os
import shutil
import torchvision.models as models
from torch.utils.data import DataLoader
from elsewhere import train_set, accuracy_of

parser = argparse.ArgumentParser()
parser.add_argument("--resume", default="")
parser.add_argument("--save", default="checkpoints")
parser.add_argument("--arch", default="resnet18")
parser.add_argument("--start-epoch", type=int, default=0)
args = parser.parse_args()

def save_checkpoint(state, is_best, folder):
    torch.save(state, os.path.join(folder, "last.pth"))
    if is_best:
        shutil.copyfile(os.path.join(folder, "last.pth"), os.path.join(folder, "best.pth"))

model = models.__dict__[args.arch](num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
{before}
if args.resume:
    checkpoint = torch.load(args.resume)
    args.start_epoch = checkpoint["epoch"]
    best = checkpoint["best"]
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
{behind}
for epoch in range(args.start_epoch, 90):
    model.train()
    for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    accuracy = accuracy_of(model)
    is_best = accuracy > best
    best = max(accuracy, best)
    state = dict(epoch=epoch + 1, model=model.state_dict(), optimizer=optimizer.state_dict(), best=best)
    save_checkpoint(state, is_best, {folder}){mark}
"""
TOLD = "  # <- 905"


@table({
    "set behind it": SCRIPT.format(before="", behind="best = 0.0", folder="args.save", mark=TOLD),
    "the folder by name": SCRIPT.format(before="", behind="best = 0.0", folder="folder=args.save", mark=TOLD),
    "set before it": SCRIPT.format(before="best = 0.0", behind="", folder="args.save", mark=""),
    "set where nothing is resumed": SCRIPT.format(before="", behind="else:\n    best = 0.0", folder="args.save", mark=""),
    "set under a condition": SCRIPT.format(before="best = 0.0", behind="if args.start_epoch == 0:\n    best = 0.0", folder="args.save", mark=""),
    "a folder for each epoch": SCRIPT.format(before="", behind="best = 0.0", folder='f"{args.save}/{epoch}"', mark=""),
})
def test_set_in_front_of_the_training(code):
    holds(code)
