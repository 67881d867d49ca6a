"""702: what underflows does so before the optimizer is asked, whoever made it."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
from elsewhere import %s

def train(loader):
    model = nn.Linear(4, 3).cuda()
    optimizer = %s
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()%s
        optimizer.step()
"""


@table({
    "by a factory": TRAIN % ("create_optimizer, cfg", "create_optimizer(cfg, model.parameters())", "  # <- 702"),
    "of another package": TRAIN % ("Lion", "Lion(model.parameters(), lr=1e-4)", "  # <- 702"),
    "one that scales": TRAIN % ("FP16Optimizer", "FP16Optimizer(torch.optim.SGD(model.parameters(), lr=0.1))", ""),
    "a wrapper": TRAIN % ("wrap", "wrap(torch.optim.SGD(model.parameters(), lr=0.1))", ""),
})
def test_an_optimizer_that_is_not_torchs(code):
    holds(code)


SCALED = """
from torch.cuda.amp import GradScaler

def train(loader):
    model = nn.Linear(4, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
        # scaler.scale(loss).backward()
        loss.backward()%s
        optimizer.step()
"""


@table({
    "the scaler is left over": SCALED % "  # <- 702",
    "and given to somebody": SCALED % "" + "\ntrain.scaler = GradScaler\n",
    "a scaler of the project's": (SCALED % "").replace("torch.cuda.amp", "elsewhere"),
})
def test_a_scaler_that_is_only_imported(code):
    holds(code)


def test_a_class_of_the_project():
    """It may scale back what it is given."""
    own = "\nclass Own(torch.optim.SGD):\n    def step(self, closure=None):\n        return super().step(closure)\n"
    holds(own + TRAIN % ("cfg", "Own(model.parameters(), lr=0.1)", ""))
