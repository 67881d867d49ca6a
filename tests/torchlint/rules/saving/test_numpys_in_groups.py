"""901 of checkpoints whose optimizer has numbers of NumPy's in its groups."""

import pytest

from tests.torchlint.dryrun.support import holds

CODE = """
import math
import numpy as np

def adjust(optimizer, epoch, args, steps):
    SET
    for group in optimizer.param_groups:
        group["lr"] = GIVEN

def main(net: nn.Module, loader, args, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    start = 0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")MARK
        start = checkpoint["epoch"]
        net.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(start, args.epochs):
        adjust(optimizer, epoch, args, steps)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        torch.save({"model": net.state_dict(), "optimizer": SAVED, "epoch": epoch + 1}, "last.pt")
"""
ALONE = "optimizer.state_dict()"


def program(given, mark="", before="pass", saved=ALONE):
    return CODE.replace("GIVEN", given).replace("SET", before).replace("MARK", mark).replace("SAVED", saved)


@pytest.mark.parametrize("given", [
    "0.1 * np.cos(epoch)", "np.interp(epoch, [0, 5], [0.0, 0.1])", "0.1 * 0.1 ** sum(epoch >= np.array(steps))", "np.array([0.1, 0.01])[epoch]",
    "(0.5 ** (epoch >= np.array(steps)).sum())", "min(np.power(epoch, -0.5), np.sqrt(epoch))",
])
def test_a_rate_of_numpys(given):
    holds(program(given, "  # <- 901"))
    holds(program("float(%s)" % given))


@pytest.mark.parametrize("given", ["0.1 * math.cos(epoch)", "np.random.uniform(0, 1)", "np.pi / 4", "np.cos(epoch).item()", "min(0.1, np.sqrt(epoch))", "args.lr"])
def test_a_plain_rate(given):
    holds(program(given))


STEP = 'if args.how == "step":\n        lr = 0.1 ** np.sum(steps)\n    else:\n        lr = 0.1'


@pytest.mark.parametrize(("before", "mark"), [
    ("lr = 0.1 * np.cos(epoch)", "  # <- 901"), (STEP, "  # <- 901"), ("lr = np.cos(epoch)\n    lr *= 0.1", "  # <- 901"),
    ("lr = np.cos(epoch)\n    lr = float(lr)", ""), ("lr = np.cos(epoch)\n    lr = 0.1", ""), (f"{STEP}\n    lr = args.lr", ""),
    (STEP.replace("\n    else", "\n        lr = args.lr\n    else"), ""), ("lr = 0.1\n    print(np.cos(lr))", ""),
])
def test_a_rate_that_has_a_name(before, mark):
    holds(program("lr", mark, before))


def test_the_state_of_all_files_but_the_last():
    holds(program("np.cos(epoch)", "  # <- 901", saved="None if epoch == 9 else optimizer.state_dict()"))


def test_a_scheduler_sets_the_rate_again():
    code = program("np.cos(epoch)").replace("    start = 0\n", "    start = 0\n    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 9)\n")
    code = code.replace("        torch.save(", "        scheduler.step()\n        torch.save(").replace('"epoch": epoch', '"scheduler": scheduler.state_dict(), "epoch": epoch')
    code = code.replace("        optimizer.load_state_dict", '        scheduler.load_state_dict(checkpoint["scheduler"])\n        optimizer.load_state_dict')
    holds(code)
    holds(code.replace('group["lr"]', 'group["momentum"]').replace('map_location="cpu")', 'map_location="cpu")  # <- 901'))


MAKES = '    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\n'


@pytest.mark.parametrize("apex", [
    "    if args.half:\n        net, optimizer = amp.initialize(net, optimizer, opt_level='O1')\n",
    "    if args.half:\n        both = amp.initialize(net, optimizer, opt_level='O1')\n        net, optimizer = both\n",
])
def test_apex_gives_back_the_optimizer_that_it_was_given(apex):
    def through_apex(given, mark=""):
        code = program(given, mark, saved="optimizer.state_dict()").replace("import math\n", "import math\nfrom apex import amp\n")
        code = code.replace('"epoch": epoch + 1', '"amp": amp.state_dict(), "epoch": epoch + 1')
        return code.replace(MAKES, MAKES + apex).replace("    start = 0\n", "    start = 0\n", 1)

    holds(through_apex("0.1 * np.cos(epoch)", "  # <- 901"))
    holds(through_apex("0.1 * math.cos(epoch)"))


def test_what_something_else_gives_back_may_be_another():
    code = program("0.1 * np.cos(epoch)").replace("import math\n", "import math\nfrom elsewhere import prepared\n")
    holds(code.replace(MAKES, MAKES + "    if args.half:\n        net, optimizer = prepared(net, optimizer)\n"))
