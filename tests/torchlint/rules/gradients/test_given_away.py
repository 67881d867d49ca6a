"""110 where the scheduler is given to a function, and 115 where a step comes between a forward and its second backward."""

from tests.torchlint.dryrun.support import holds, table

SCHEDULED = """
{imports}

{train}

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10){mark}
train(model, [], optimizer, scheduler)
for x in torch.randn(3, 2, 3):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
TRAIN = """
def train(model, loader, optimizer, scheduler):
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    {after}
"""


@table({
    "to a function that leaves it alone": SCHEDULED.format(imports="", train=TRAIN.format(after="print(model)"), mark="  # <- 110"),
    "to a function that steps it": SCHEDULED.format(imports="", train=TRAIN.format(after="scheduler.step()"), mark=""),
    "to a class whose base is not there": SCHEDULED.format(imports="from elsewhere import Warm", mark="", train="""
class Own(Warm):
    def __init__(self, optimizer, after):
        super(Own, self).__init__(optimizer, after)

def train(model, loader, optimizer, scheduler):
    warm = Own(optimizer, scheduler)
    warm.step()
"""),
    "to a function that is not there": SCHEDULED.format(imports="from elsewhere import train", train="", mark=""),
})
def test_a_scheduler_that_is_given_away(code):
    holds(code)


TWO_NETS = """
class Net(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.first, self.second = nn.Linear(a, 16), nn.Linear(16, b)

    def forward(self, x):
        return self.second(self.first(x).relu())

g, d = Net(4, 8), Net(8, 1)
g_steps, d_steps = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
for real in torch.randn(10, 5, 8):
{body}
"""
OLD_GAN = """
    fake = g(torch.randn(5, 4))
    of_fake = d(fake)
    d_loss = of_fake.mean() - d(real).mean()
    g_loss = -{score}.mean()
    d_steps.zero_grad()
    d_loss.backward(retain_graph=True)
    d_steps.step()
    g_steps.zero_grad()
    g_loss.backward(){mark}
    g_steps.step()
"""


@table({
    "the score of before the step": TWO_NETS.format(body=OLD_GAN.format(score="of_fake", mark="  # <- 115")),
    "nothing comes behind the one that raises": TWO_NETS.format(body="""
    of_fake = d(g(torch.randn(5, 4)))
    d_loss, g_loss = of_fake.mean() - d(real).mean(), -of_fake.mean()
    d_steps.zero_grad()
    g_steps.zero_grad()
    d_loss.backward(retain_graph=True)
    d_steps.step()
    g_loss.backward(retain_graph=True)  # <- 115
    of_fake.pow(2).mean().backward()
    g_steps.step()
"""),
    "both before the steps": TWO_NETS.format(body="""
    of_fake = d(g(torch.randn(5, 4)))
    (of_fake.mean() - d(real).mean()).backward(retain_graph=True)
    (-of_fake.mean()).backward()
    d_steps.step()
    g_steps.step()
    d_steps.zero_grad()
    g_steps.zero_grad()
"""),
    "the step of another model": TWO_NETS.format(body="""
    value = d(real)
    choice = g(real[:, :4])
    (choice * value.detach()).mean().backward()
    g_steps.step()
    g_steps.zero_grad()
    value.pow(2).mean().backward()
    d_steps.step()
    d_steps.zero_grad()
"""),
    "run again": TWO_NETS.format(body="""
    fake = g(torch.randn(5, 4))
    d_loss = d(fake.detach()).mean() - d(real).mean()
    d_steps.zero_grad()
    d_loss.backward()
    d_steps.step()
    g_loss = -d(fake).mean()
    g_steps.zero_grad()
    g_loss.backward()
    g_steps.step()
"""),
    "what is left is a number": TWO_NETS.format(body="""
    of_fake = d(real)
    of_fake.mean().backward()
    d_steps.step()
    loss = (g(real[:, :4]) * of_fake.detach()).mean()
    d_steps.zero_grad()
    g_steps.zero_grad()
    loss.backward()
    g_steps.step()
"""),
})
def test_weights_that_a_step_changes_before_the_second_backward(code):
    holds(code)
