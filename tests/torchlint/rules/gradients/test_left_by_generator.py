"""101: what a generator's loss leaves in the discriminator is cleared before the discriminator's own step, or that takes it."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found

PROGRAM = """
def train(loader):
    generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    discriminator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
    criterion = nn.BCEWithLogitsLoss()
    for noise, real in loader:
        ones, zeros = torch.ones(real.size(0), 1), torch.zeros(real.size(0), 1)
        {body}
"""
GENERATOR = "loss_g = criterion(discriminator(fake), ones); loss_g.backward(); optimizer_g.step()"
LOSS = "loss_d = criterion(discriminator(real), ones) + criterion(discriminator({fake}), zeros)"
STEP = "loss_d.backward(); optimizer_d.step()"
FAKE, CUT = "fake = generator(noise)", LOSS.format(fake="fake.detach()")


def body(*parts):
    return "\n        ".join("; ".join(parts).split("; "))


@pytest.mark.parametrize(("text", "told"), [
    pytest.param(body(FAKE, "optimizer_g.zero_grad()", "optimizer_d.zero_grad()", GENERATOR, CUT, STEP), True, id="cleared before both"),
    pytest.param(body(FAKE, "generator.zero_grad()", "discriminator.zero_grad()", GENERATOR, CUT, STEP), True, id="by the models"),
    pytest.param(body(FAKE, "optimizer_g.zero_grad()", GENERATOR, "optimizer_d.zero_grad()", CUT, STEP), False, id="cleared in between"),
    pytest.param(body(FAKE, "optimizer_g.zero_grad()", GENERATOR, CUT, "discriminator.zero_grad()", STEP), False, id="by the model"),
    pytest.param(
        body(FAKE, "optimizer_g.zero_grad()", "optimizer_d.zero_grad()", CUT, STEP, GENERATOR), False, id="the discriminator first"),
    pytest.param(
        body(FAKE, "optimizer_g.zero_grad()", "optimizer_d.zero_grad()", GENERATOR.replace("backward()", "backward(inputs=list(generator.parameters()))"), CUT, STEP),
        False, id="of the generator alone"),
    pytest.param(
        body(FAKE, "optimizer_g.zero_grad()", "optimizer_d.zero_grad()", "discriminator.requires_grad_(False)", GENERATOR, "discriminator.requires_grad_(True)", CUT, STEP),
        False, id="frozen for the generator"),
    pytest.param(
        body(FAKE, "optimizer_g.zero_grad()", "optimizer_d.zero_grad()", GENERATOR.replace("discriminator(fake)", "fake"), CUT, STEP),
        False, id="not through the discriminator"),
])
def test_what_is_left_in_the_discriminator(text, told):
    source = IMPORTS + PROGRAM.format(body=text)
    assert (101 in {number for _, number in found(source)}) is told, found(source)
