"""202: a loop over held-out data in a function that switches gradients on for something else."""

from tests.torchlint.dryrun.support import holds, table

CRITIC = """
def train(loader, val_loader):
    g, d = nn.Linear(4, 8), nn.Linear(8, 1)
    opt_g, opt_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for step in range(1000):
        for p in d.parameters():
            p.requires_grad_(False)
        noise = torch.randn(16, 4)
        {switch}
        loss = -d(g(noise)).mean()
        opt_g.zero_grad()
        loss.backward()
        opt_g.step()
        for p in d.parameters():
            p.requires_grad_(True)
        real = next(iter(loader))
        loss = (d(g(noise).detach()) - d(real)).mean()
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
        if step % 100 == 0:
            costs = []
            for images in {data}:
                {first}
                scores = d(images){mark}
                costs.append(-scores.mean().cpu().data.numpy())
                {then}
            print(step, sum(costs))
"""
GIVEN = {"switch": "noise.requires_grad_(True)", "data": "val_loader", "first": "images = images.to('cpu')", "mark": "  # <- 202", "then": ""}


def _critic(**changed):
    return CRITIC.format(**{**GIVEN, "mark": "", **changed})


@table({
    "for the weights and the noise": CRITIC.format(**GIVEN),
    "for the whole model": CRITIC.format(**{**GIVEN, "switch": "d.requires_grad_()"}),
    "for the batch itself": _critic(first="images.requires_grad_()"),
    "for what is added to the batch": _critic(switch="shift = torch.zeros(8); shift.requires_grad_()", first="images = images + shift"),
    "for what has no name": _critic(switch="torch.zeros(8, out=images).requires_grad_()"),
    "for a batch whose gradient is read": _critic(first="images = torch.autograd.Variable(images, True)", then="print(images.grad)"),
    "in a loop over something else": _critic(data="loader"),
})
def test_switched_on_for_others(code):
    holds(code)
