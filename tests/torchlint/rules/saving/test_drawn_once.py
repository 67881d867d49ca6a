"""941: `multinomial()` has to be told how many are drawn."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "nothing is said": """
def choose(net: nn.Module, state):
    probabilities = F.softmax(net(state), dim=1)
    action = probabilities.multinomial()  # <- 941
    return action.item()
""",
    "of what is handed over": """
def choose(probabilities):
    return probabilities.multinomial()  # <- 941
""",
    "it is said": """
def choose(net: nn.Module, state):
    probabilities = F.softmax(net(state), dim=1)
    return probabilities.multinomial(1), probabilities.multinomial(num_samples=2)
""",
    "a method of the program's own": """
class Policy:
    def multinomial(self):
        return 0

def choose():
    return Policy().multinomial()
""",
    "somebody is ready for it": """
def choose(probabilities):
    try:
        return probabilities.multinomial()
    except TypeError:
        return probabilities.multinomial(1)
""",
})
def test_drawn_once(code):
    holds(code)
