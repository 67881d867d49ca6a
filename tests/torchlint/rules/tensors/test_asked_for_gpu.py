"""401: an option asks for the GPU where one of model and input, or of scores and labels, is moved, and not where the other is."""

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


GPU = 'parser.add_argument("--gpu", default=None, type=int)'
GIVEN = "if args.gpu is not None:\n        model.cuda(args.gpu)"
X_GIVEN = "if args.gpu is not None:\n            x = x.cuda(args.gpu)\n        y = y.cuda(args.gpu)"


def of_labels(model, batch, made=MADE, switch=SWITCH, told=False, between=""):
    code = PROGRAM.format(model=model, batch=batch, made=made, switch=switch, mark=between)
    return code.replace(".backward()", ".backward()  # <- 401") if told else code


@table({
    "labels in any case": of_labels(ASKED_MODEL, "if args.cuda:\n            x = x.cuda()\n        y = y.cuda()", told=True),
    "the number of a GPU": of_labels(GIVEN, X_GIVEN, "", GPU, told=True),
    "the input stays in any case": of_labels(GIVEN, "y = y.cuda()", "", GPU, told=True),
    "a model in any case, with the number of a GPU": program("model.cuda()", X_GIVEN.replace("\n        y", "\n            y"), "", GPU, told=True),
    "labels too": of_labels(GIVEN, X_GIVEN.replace("\n        y", "\n            y"), "", GPU),
    "there is a number": of_labels(GIVEN, X_GIVEN, "", 'parser.add_argument("--gpu", default=0, type=int)'),
    "it is asked for": of_labels(GIVEN, X_GIVEN, "", 'parser.add_argument("--gpu", required=True, type=int)'),
    "a number is chosen": of_labels(GIVEN, X_GIVEN, "if args.gpu is None:\n    args.gpu = 0", GPU),
    "the program ends without a number": of_labels(GIVEN, X_GIVEN, "if args.gpu is None:\n    raise SystemExit('needs a GPU')", GPU),
    "else it is spread": of_labels(GIVEN + "\n    else:\n        model = nn.DataParallel(model).cuda()", X_GIVEN, "", GPU),
    "else it is moved, too": of_labels(GIVEN + "\n    else:\n        model.cuda()", X_GIVEN, "", GPU),
    "scores are moved, too": of_labels(GIVEN, X_GIVEN, "", GPU, between="\n        out = out.cuda()"),
})
def test_labels_in_any_case(code):
    holds(code)
