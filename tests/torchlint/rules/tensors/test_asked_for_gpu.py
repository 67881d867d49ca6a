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
    "of a switch for the CPU": program("if not args.cpu:\n        model.cuda()", BATCH, "", 'parser.add_argument("--cpu", action="store_true")', told=True),
    "of a number that is 1 or 0": program(ASKED_MODEL, BATCH, "", 'parser.add_argument("--cuda", type=int, default=1, help="1 or 0")', told=True),
    "of a number that has to be said": program(ASKED_MODEL, BATCH, "", 'parser.add_argument("--cuda", type=int, required=True)', told=True),
    "of the number of a GPU": program(ASKED_MODEL, BATCH, "", 'parser.add_argument("--cuda", type=int, default=3)'),
    "of a model that is made under another condition": program(
        "if args.net:\n        model = nn.Linear(4, 10)\n    else:\n        raise ValueError\n    " + ASKED_MODEL, BATCH, told=True),
    "asked where it is called": program(ASKED_MODEL, BATCH).replace("\nmain()", "\nif args.cuda:\n    main()"),
    "over several lines": program(ASKED_MODEL, BATCH, "", 'parser.add_argument(\n    "--cuda", default=False,\n    action="store_true")', told=True),
    "where both are moved": program(ASKED_MODEL, ASKED_BATCH),
    "made and moved as it says": program("if args.cuda:\n        model = nn.Linear(4, 10).cuda()\n    else:\n        model = nn.Linear(4, 10)", ASKED_BATCH),
    "for nothing": program("model.cuda()", BATCH),
    "no option": program(ASKED_MODEL, BATCH, "args.cuda = torch.cuda.is_available()"),
    "a name that is no option": program("if use_cuda:\n        model.cuda()", BATCH, "use_cuda = torch.cuda.is_available()"),
    "always on": program("if use_cuda:\n        model.cuda()", BATCH, "use_cuda = True"),
    "set besides": program(ASKED_MODEL, BATCH, MADE + "\nif args.local:\n    args.cuda = True"),
    "the program ends without it": program(ASKED_MODEL, BATCH, MADE + "\nif not args.cuda:\n    raise SystemExit('needs a GPU')"),
    "the program ends with it": program("if not args.no_cuda:\n        model.cuda()", BATCH, "if args.no_cuda:\n    raise SystemExit('not yet')"),
    "no switch": program(ASKED_MODEL, BATCH, "", 'parser.add_argument("--cuda", type=int)'),
    "moved to a device": program(ASKED_MODEL, "x, y = x.to(args.device), y.to(args.device)"),
    "moved besides": program(ASKED_MODEL + "\n    model.cuda()", BATCH),
    "a wrapper brings it": program("model = nn.DataParallel(model).cuda()", ASKED_BATCH),
})
def test_asked_for_one(code):
    holds(code)


DEVICE = MADE + '\ndevice = torch.device("cuda" if args.cuda else "cpu")'
TO_DEVICE, BATCH_TO_DEVICE = "model = model.to(device)", "x, y = x.to(device), y.to(device)"


@table({
    "of the model": program(TO_DEVICE, BATCH, DEVICE, told=True),
    "of the batch": program("model.cuda()", BATCH_TO_DEVICE, DEVICE, told=True),
    "of a switch itself": program(TO_DEVICE, BATCH, 'device = torch.device("cpu" if args.no_cuda else "cuda:0")', told=True),
    "with what the machine has": program(
        TO_DEVICE, BATCH, 'device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")', told=True),
    "of the labels": program(TO_DEVICE, "x, y = x.to(device), y.cuda()", DEVICE).replace(".backward()", ".backward()  # <- 401"),
    "of both": program(TO_DEVICE, BATCH_TO_DEVICE, DEVICE),
    "of neither": program("model.cuda()", BATCH, DEVICE),
    "of what the machine has alone": program(TO_DEVICE, BATCH, 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'),
    "of something that is no option": program(TO_DEVICE, BATCH, 'device = torch.device("cuda" if torch.cuda.device_count() > 1 else "cpu")'),
    "where it is called": program(TO_DEVICE, BATCH, DEVICE).replace("\nmain()", "\nif args.cuda:\n    main()"),
    "the program ends without it": program(TO_DEVICE, BATCH, DEVICE + "\nif not args.cuda:\n    raise SystemExit('needs a GPU')"),
    "and moved besides": program(TO_DEVICE + "\n    model.cuda()", BATCH, DEVICE),
    "of one of two moves": program("if args.fast:\n        model = model.to(device)\n    else:\n        model.cuda()", BATCH, DEVICE),
    "asked beside the batch": program(TO_DEVICE, "if args.cuda:\n            x, y = x.cuda(), y.cuda()", DEVICE),
})
def test_a_device_that_an_option_chooses(code):
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


NGPU = 'parser.add_argument("--ngpu", type=int, default=1)'
COUNTED = "if args.ngpu > 0:\n        model.cuda()"


@table({
    "how many": program(COUNTED, BATCH, "", NGPU, told=True),
    "the number of one": program("if args.gpu >= 0:\n        model.cuda(args.gpu)", BATCH, "", NGPU.replace("ngpu", "gpu"), told=True),
    "where the batch is moved": program("model.cuda()", ASKED_BATCH.replace("args.cuda", "args.ngpu != 0"), "", NGPU, told=True),
    "several, and one": program("if args.ngpu > 1:\n        model = nn.DataParallel(model)\n    " + COUNTED, BATCH, "", NGPU, told=True),
    "more than one": program("if args.ngpu > 1:\n        model.cuda()\n    else:\n        model.cuda()", BATCH, "", NGPU),
    "where both are moved": program(COUNTED, ASKED_BATCH.replace("args.cuda", "args.ngpu > 0"), "", NGPU),
    "one of some": program(COUNTED, BATCH, "", NGPU.replace("default=1", "choices=[1, 2]")),
    "set besides": program(COUNTED, BATCH, "args.ngpu = max(args.ngpu, 1)", NGPU),
    "the program ends without one": program(COUNTED, BATCH, "if args.ngpu == 0:\n    raise SystemExit('needs a GPU')", NGPU),
    "no option": program(COUNTED, BATCH, "args.ngpu = torch.cuda.device_count()", ""),
})
def test_how_many(code):
    holds(code)


THERE = 'parser.add_argument("--cuda", action="store_true")'
BOTH_ASKED = "if torch.cuda.is_available() and args.cuda:\n        model.cuda()"
WHERE_THERE_IS_ONE = "if torch.cuda.is_available():\n            x, y = x.cuda(), y.cuda()"


@table({
    "the machine is asked besides": program(BOTH_ASKED, WHERE_THERE_IS_ONE, "", THERE, told=True),
    "the machine alone": program(ASKED_MODEL, WHERE_THERE_IS_ONE, "", THERE, told=True),
    "under what the call stands under": program(BOTH_ASKED, "if len(x) < 2:\n            continue\n        " + WHERE_THERE_IS_ONE, "", THERE, told=True),
    "both ask both": program(BOTH_ASKED, "if args.cuda and torch.cuda.is_available():\n            x, y = x.cuda(), y.cuda()", "", THERE),
    "one or the other": program(BOTH_ASKED.replace(" and ", " or "), WHERE_THERE_IS_ONE, "", THERE),
    "another one, too": program(BOTH_ASKED.replace("and args.cuda", "and args.cuda and args.fast"), WHERE_THERE_IS_ONE, "", THERE),
    "where there is none": program(BOTH_ASKED, "if not torch.cuda.is_available():\n            x, y = x.cpu(), y.cpu()", "", THERE),
    "asked in one line": program(BOTH_ASKED, "x, y = x.cuda() if args.cuda else x, y.cuda() if args.cuda else y", "", THERE),
    "asked in one line, too": program(
        BOTH_ASKED, "if torch.cuda.is_available():\n            x, y = x.cuda() if args.cuda else x, y.cuda() if args.cuda else y", "", THERE),
    "asked in between": program(BOTH_ASKED, "if torch.cuda.is_available():\n            if args.cuda:\n                x, y = x.cuda(), y.cuda()", "", THERE),
    "only one of some": program(BOTH_ASKED, "if torch.cuda.is_available() and len(x) > 2:\n            x, y = x.cuda(), y.cuda()", "", THERE),
})
def test_the_machine_is_asked(code):
    holds(code)


REFINED = "model.cuda()\n    if args.cuda:\n        model.cuda()"
MADE_AGAIN = "if args.refine:\n        model = nn.Linear(4, 10)\n        model.cuda()\n    if args.cuda:\n        model.cuda()"


@table({
    "moved twice": program(REFINED, ASKED_BATCH, told=True),
    "moved where it is made": program(MADE_AGAIN, ASKED_BATCH, told=True),
    "not moved where it is made": program(MADE_AGAIN.replace("        model.cuda()\n    if", "    if"), ASKED_BATCH),
    "the first one is not moved, and the batches are": program(MADE_AGAIN, BATCH, told=True),
    "moved, and so are the batches": program(MADE_AGAIN.replace("if args.cuda:\n    ", ""), BATCH),
})
def test_moved_where_it_is_made(code):
    holds(code)


PAIRS = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--use-cuda", action="store_true")
args = parser.parse_args()


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, one, other):
        {inside}
        return (self.layer(one) - self.layer(other)).pow(2).sum()


if __name__ == "__main__":
    model = Pairs()
    if args.use_cuda:
        model.cuda()
    model.eval()
    with torch.no_grad():
        for number in range(10):
            one = torch.rand(3, 4)
            {one}
            other = torch.rand(3, 4)
            if args.use_cuda:
                other = other.cuda()
            print(model(one=one, other=other)){mark}
"""
ASKED_ONE = "if args.use_cuda:\n                one = one.cuda()"


@table({
    "one in any case": PAIRS.format(one="one = one.cuda()", inside="", mark="  # <- 401"),
    "both where it is asked for": PAIRS.format(one=ASKED_ONE, inside="", mark=""),
    "the model brings it": PAIRS.format(one="one = one.cuda()", inside="one = one.to(self.layer.weight.device)", mark=""),
})
def test_passed_by_name(code):
    holds(code)
