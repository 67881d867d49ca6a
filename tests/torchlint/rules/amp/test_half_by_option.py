"""707 of a model that an option makes half precision, and of words that tell of no other weights."""

import pytest

from tests.torchlint.dryrun.support import holds

TRAINING = """
def main(args, loader):
    model = nn.Linear(16, 4).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=float(args.lr))
    if {asked}:
        model.half(){mark}
    for x, y in loader:
        optimizer.zero_grad()
        output = model(x)
        loss = F.cross_entropy(output, y)
        loss.backward()
        {steps}
        {does}
"""


@pytest.mark.parametrize(("asked", "does", "told"), [
    ("args.half", "pass", True),
    ("args.precision == 'fp16'", "pass", True),
    ("args.half", "print(loss.float(), output.float())", True),
    ("args.half", "samples = (output.argmax(1) == y).float().sum()", True),
    ("args.half", "clamped = x.clamp(0, 1)", True),
    ("args.half", "params = [p.float() for p in args.params]", False),
    ("args.half", "amp = args.amp", False),
    ("args.half", "loss_scale = 128", False),
    ("args.half", "torch.float32", False),
    ("args.test", "pass", False),
    ("args.half and args.test", "pass", False),
    ("not args.half", "pass", False),
])
def test_an_option(asked, does, told):
    holds(TRAINING.format(asked=asked, does=does, steps="optimizer.step()", mark="  # <- 707" if told else ""))


def test_the_option_trains_by_another_way():
    holds(TRAINING.format(asked="args.half", does="pass", steps="optimizer.step() if not args.half else step_by_hand(model)", mark=""))


def test_the_option_only_predicts():
    holds("""
def main(args, loader):
    model = nn.Linear(16, 4).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    if args.half:
        model.half()
        return model
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""")
