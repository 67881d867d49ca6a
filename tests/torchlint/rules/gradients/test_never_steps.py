"""103 of one optimizer among several: what it was made for is sent backward, and it never steps; and 136, where another one steps in its place."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, engine, found

GAN = """
from networks import make_critic, make_generator


def train(loader, rate, update=None):
    generator, critic = make_generator(), make_critic()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=rate)
    optimizer_c = torch.optim.Adam({held}, lr=rate)
    for noise, real in loader:
        optimizer_c.zero_grad()
        loss_c = critic(generator(noise){cut}).mean() - critic(real).mean()
        loss_c.backward()
        {rest}
        optimizer_g.zero_grad()
        loss_g = -critic(generator(noise)).mean()
        loss_g.backward()
        optimizer_g.step()
"""


@pytest.mark.parametrize("rest, held, cut, told", [
    ("", "critic.parameters()", ".detach()", True),
    ("optimizer_c.step()", "critic.parameters()", ".detach()", False),
    ("if real.mean() > 0:\n            optimizer_c.step()", "critic.parameters()", ".detach()", False),
    ("update(optimizer_c)", "critic.parameters()", ".detach()", False),
    ("for optimizer in (optimizer_g, optimizer_c):\n            optimizer.step()", "critic.parameters()", ".detach()", False),
    ("", "critic.parameters()", "", False),  # the generator's optimizer steps by what this loss left
    ("", "generator.parameters()", ".detach()", False),
    ("critic.update()", "critic.parameters()", ".detach()", False),
])
def test_an_optimizer_that_never_steps(rest, held, cut, told):
    text = IMPORTS + GAN.format(rest=rest, held=held, cut=cut)
    at = [text[: text.index("loss_c.backward()")].count("\n") + 1] if told else []
    assert [row for row, number in found(text) if number == 103] == at


def test_the_optimizer_that_never_steps_is_named():
    text = IMPORTS + GAN.format(rest="", held="critic.parameters()", cut=".detach()")
    (finding,) = [item for item in engine().check("snippet.py", text).findings if item.number == 103]
    assert "`optimizer_c.step()`" in finding.help
    assert finding.related[0].location.row == text[: text.index("optimizer_c = ")].count("\n") + 1


CLEARED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)


generator, critic = Net(), Net()
scaler_g, scaler_c = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
optimizer_c = torch.optim.Adam({held}.parameters(), lr=1e-3)
for noise in torch.randn(10, 4, 8):
    optimizer_c.zero_grad()
    scaler_c.scale(critic(generator(noise).detach()).mean()).backward()
    scaler_c.step(optimizer_c)
    scaler_c.update()
    {cleared}
    scaler_g.scale(-critic(generator(noise)).mean()).backward()
    {stepped}
    scaler_g.update()
    {rest}
"""


@pytest.mark.parametrize("held, cleared, stepped, rest, told", [
    ("critic", "optimizer_g.zero_grad()", "scaler_g.step(optimizer_c)", "", True),
    ("critic", "optimizer_g.zero_grad()", "optimizer_c.step()", "", True),
    ("critic", "optimizer_g.zero_grad()", "scaler_g.step(optimizer_g)", "", False),
    ("critic", "optimizer_g.zero_grad()", "scaler_g.step(optimizer_c)", "optimizer_g.step()", False),  # late, and of use
    ("critic", "optimizer_g.zero_grad(); optimizer_c.zero_grad()", "scaler_g.step(optimizer_c)", "", False),
    ("critic", "optimizer_c.zero_grad(); optimizer_g.zero_grad()", "scaler_g.step(optimizer_c)", "", False),
    ("critic", "generator.zero_grad()", "scaler_g.step(optimizer_c)", "", False),
    ("generator", "optimizer_g.zero_grad()", "scaler_g.step(optimizer_c)", "", False),  # both hold the same weights
])
def test_an_optimizer_that_was_cleared_for_a_loss_and_another_that_steps(held, cleared, stepped, rest, told):
    """The loss goes through the critic, too, and leaves gradients there: that the generator's optimizer was cleared says what is meant."""
    text = IMPORTS + CLEARED.format(held=held, cleared=cleared, stepped=stepped, rest=rest)
    at = [row for row, line in enumerate(text.split("\n"), 1) if line.strip() == stepped] if told else []
    assert [row for row, number in found(text) if number == 136] == at
