"""710: a checkpoint that a helper writes, told where it is put together."""

import pytest

from tests.torchlint.dryrun.support import holds


def test_a_helper_writes():
    holds("""
def write(state, path):
    torch.save(state, path)

def train(model, loader, path):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    write({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)  # <- 710

def other(model, optimizer, path):
    write({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
""")


TRAINED = """
def train(model, loader, path, args):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optim": WHAT}, path)
"""


@pytest.mark.parametrize(("what", "told"), [
    ("optimizer.state_dict()", True), ('{"main": optimizer.state_dict()}', True),
    ('{"step": 4, "main": optimizer.state_dict()}', True), ('{"step": args.step}', False), ('{"step": 4}', False), ('"adam"', False),
])
def test_what_stands_under_the_name_of_an_optimizer(what, told):
    code = TRAINED.replace("WHAT", what)
    holds(code.replace("path)\n", "path)  # <- 710\n") if told else code)
