"""401: an option asks for the GPU where one of model and input is moved, and not where the other is."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import argparse
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

parser = argparse.ArgumentParser()
{switch}
args = parser.parse_args()
{made}

def main():
    model = nn.Linear(4, 10)
    {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(MNIST("data"), shuffle=True):
        {batch}
        optimizer.zero_grad()
        out = model(x){mark}
        F.cross_entropy(out, y).backward()
        optimizer.step()

main()
"""
SWITCH = 'parser.add_argument("--no-cuda", action="store_true")'
MADE = "args.cuda = not args.no_cuda and torch.cuda.is_available()"
BATCH = "x, y = x.cuda(), y.cuda()"
ASKED_BATCH = "if args.cuda:\n            x, y = x.cuda(), y.cuda()"
ASKED_MODEL = "if args.cuda:\n        model.cuda()"


def program(model, batch, made=MADE, switch=SWITCH, told=False):
    return PROGRAM.format(model=model, batch=batch, made=made, switch=switch, mark="  # <- 401" if told else "")


@table({
    "where the model is moved": program(ASKED_MODEL, BATCH, told=True),
    "where the batch is moved": program("model.cuda()", ASKED_BATCH, told=True),
    "by another name": program("if use_cuda:\n        model = model.cuda()", BATCH, "use_cuda = not args.no_cuda and torch.cuda.is_available()", told=True),
    "the other way round": program("if not args.no_cuda:\n        model.cuda()", BATCH, "", told=True),
    "of a switch that is off": program("model.cuda()", ASKED_BATCH, "", 'parser.add_argument("--cuda", action="store_true")', told=True),
    "over several lines": program(ASKED_MODEL, BATCH, "", 'parser.add_argument(\n    "--cuda", default=False,\n    action="store_true")', told=True),
    "where both are moved": program(ASKED_MODEL, ASKED_BATCH),
    "for nothing": program("model.cuda()", BATCH),
    "no option": program(ASKED_MODEL, BATCH, "args.cuda = torch.cuda.is_available()"),
    "a name that is no option": program("if use_cuda:\n        model.cuda()", BATCH, "use_cuda = torch.cuda.is_available()"),
    "always on": program("if use_cuda:\n        model.cuda()", BATCH, "use_cuda = True"),
    "set besides": program(ASKED_MODEL, BATCH, MADE + "\nif args.local:\n    args.cuda = True"),
    "the program ends without it": program(ASKED_MODEL, BATCH, MADE + "\nif not args.cuda:\n    raise SystemExit('needs a GPU')"),
    "no switch": program(ASKED_MODEL, BATCH, "", 'parser.add_argument("--cuda", type=int)'),
    "moved to a device": program(ASKED_MODEL, "x, y = x.to(args.device), y.to(args.device)"),
    "moved besides": program(ASKED_MODEL + "\n    model.cuda()", BATCH),
    "a wrapper brings it": program("model = nn.DataParallel(model).cuda()", ASKED_BATCH),
})
def test_asked_for_one(code):
    holds(code)
