"""torch.nn.parallel.data_parallel calls a module."""

from tests.torchlint.dryrun.support import holds

DISCRIMINATOR = """
class Discriminator(nn.Module):
    def __init__(self, gpus):
        super().__init__()
        self.gpus = gpus
        self.main = nn.Sequential(nn.Conv2d(8, 1, 4){end})

    def forward(self, x):
        if x.is_cuda and self.gpus > 1:
            out = nn.parallel.data_parallel(self.main, x, range(self.gpus))
        else:
            out = self.main(x)
        return out.view(-1, 1).squeeze(1)

def train(loader, gpus):
    model = Discriminator(gpus)
    for x, labels in loader:
        {loss}
"""


def test_both_ways_end_in_the_same_layer():
    holds(DISCRIMINATOR.format(end=", nn.Sigmoid()", loss="F.binary_cross_entropy_with_logits(model(x), labels)  # <- 303"))
    holds(DISCRIMINATOR.format(end="", loss="F.binary_cross_entropy(model(x), labels)  # <- 320"))
    holds(DISCRIMINATOR.format(end="", loss="F.binary_cross_entropy_with_logits(model(x), labels)"))
