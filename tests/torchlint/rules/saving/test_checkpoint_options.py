"""905 where an option names the checkpoint that a training begins with."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
{option}
args = parser.parse_args()

def main(net, loader):
    if args.{name}:{said}
        net.load_state_dict(torch.load(args.{name}))MARK
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save(net.state_dict(), f"weights/{{epoch}}.pt")
"""
TOLD = "  # <- 905"


@pytest.mark.parametrize(("option", "name", "said", "told"), [
    ('parser.add_argument("--checkpoint", default="")', "checkpoint", "", True),
    ('parser.add_argument("--ckpt_path", default=None, help="path of the latest checkpoint")', "ckpt_path", "", True),
    ('parser.add_argument("--load-snapshot", default=None)', "load_snapshot", "", True),
    ('parser.add_argument("--checkpoint", default="",\n    help="weights of a network that was pretrained")', "checkpoint", "", False),
    ('parser.add_argument("--checkpoint", default="")', "checkpoint", "  # finetuning", False),
    ('parser.add_argument("--checkpoint", default="")\nparser.add_argument("--eval", action="store_true")', "checkpoint", "", False),
    ('parser.add_argument("--checkpoint", default="")\nparser.add_argument("-m", "--mode", default="train")', "checkpoint", "", False),
    ('parser.add_argument("--checkpoint", default="")\nparser.add_argument("--test_batch_size", type=int)', "checkpoint", "", True),
    ('parser.add_argument("--checkpoint", default="")\nparser.add_argument("--eval_every", type=int)', "checkpoint", "", True),
    ('parser.add_argument("--teacher_checkpoint", default="")', "teacher_checkpoint", "", False),
    ('parser.add_argument("--weights", default="")', "weights", "", False),
    ('parser.add_argument("--model", default="", help="model path")', "model", "", False),
    ('parser.add_argument("--load", default="")', "load", "", False),
    ('parser.add_argument("--trained", default="", help="a model to continue training with")', "trained", "", True),
    ('parser.add_argument("--pretrained", default="", help="pretrained model (to continue training)")', "pretrained", "", True),
    ('parser.add_argument("--pretrained", default="", help="a model to continue training with, or to finetune")', "pretrained", "", False),
    ('parser.add_argument("--pretrained", default="", help="pretrained model")', "pretrained", "", False),
    ('parser.add_argument("--pretrained", default="", help="pretrained model (to continue training)")', "pretrained", "  # transfer learning", False),
])
def test_checkpoints_by_name_and_help(option, name, said, told):
    holds(PROGRAM.format(option=option, name=name, said=said).replace("MARK", TOLD if told else ""))


PARTS = PROGRAM.format(option='parser.add_argument("--checkpoint", default="")', name="checkpoint", said="")


@pytest.mark.parametrize(("written", "instead"), [
    ("torch.load(args.checkpoint))", "torch.load(args.checkpoint), strict=False)"),
    ("    optimizer =", "    net[0].weight.requires_grad = False\n    optimizer ="),
    ("if args.checkpoint:", "if not args.checkpoint:"),
    ("MARK\n", "\n        return net\n"),
])
def test_not_all_of_it_goes_on(written, instead):
    holds(PARTS.replace(written, instead).replace("MARK", ""))


INTERRUPTED = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--load", default=None, help="a file to load the model from")
args = parser.parse_args()

def train(net, loader):
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save(net.state_dict(), f"{epoch}.pt")

def main(loader):
    net = nn.Linear(4, 2)
    if args.load:
        net.load_state_dict(torch.load(args.load))MARK
    try:
        train(net, loader)
    except CAUGHT:
        torch.save(net.state_dict(), "so_far.pt")
"""


@pytest.mark.parametrize(("caught", "mark"), [("KeyboardInterrupt", TOLD), ("RuntimeError", "")])
def test_weights_of_an_interrupted_training(caught, mark):
    holds(INTERRUPTED.replace("CAUGHT", caught).replace("MARK", mark))
