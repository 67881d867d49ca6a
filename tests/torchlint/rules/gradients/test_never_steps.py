"""103 of one optimizer among several: what it was made for is sent backward, and it never steps."""

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
