"""What a forward gives that is not run once more came out of its own input, and not out of the first one."""

from tests.torchlint.dryrun.support import holds

TWO_INTO_ONE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        return {result}


one, two, critic = Net(), Net(), Net()
optimizer_one = torch.optim.Adam([*one.parameters(), *critic.parameters()])
optimizer_two = torch.optim.Adam(two.parameters())
for _ in range(10):
    x = torch.randn(4, 8)
    made_by_one = {first}
    made_by_two = {second}
    loss = {scored_one}.mean()
    optimizer_one.zero_grad()
    loss.backward({keeping})
    optimizer_one.step()
    loss = {scored}.mean()
    optimizer_two.zero_grad()
    loss.backward(){mark}
    optimizer_two.step()
"""
PLAIN = dict(result="self.second(torch.relu(self.first(x)))", first="one(x)", second="two(x)", scored_one="critic(made_by_one)", keeping="")


def test_of_another_model():
    holds(TWO_INTO_ONE.format(**PLAIN, scored="critic(made_by_two)", mark=""))


def test_of_another_model_in_a_tuple():
    parts = PLAIN | dict(result="(self.second(torch.relu(self.first(x))), x)", first="one(x)[0]", second="two(x)[0]", scored_one="critic(made_by_one)[0]")
    holds(TWO_INTO_ONE.format(**parts, scored="critic(made_by_two)[0]", mark=""))


def test_of_the_model_that_has_stepped():
    holds(TWO_INTO_ONE.format(**PLAIN | {"keeping": "retain_graph=True"}, scored="critic(made_by_one + made_by_two)", mark="  # <- 115"))
