"""942 of sizes that are changed otherwise than in place."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "in what a model computes": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
    def forward(self, x):
        y = torch.tanh(self.fc(x))
        return y.resize(x.size(0), 2, 3)  # <- 942
""",
    "like another one": """
from torch.autograd import Variable
def fold(x, like):
    sums = Variable(torch.tanh(x))
    return sums.resize_as(like)  # <- 942
""",
    "in place, and by other names": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
    def forward(self, x):
        y = torch.tanh(self.fc(x)).reshape(-1, 2, 3)
        return y.view(x.size(0), 6)
def fill(kept, x):
    kept.resize_(x.size()).copy_(x)
    kept.resize_as_(x)
""",
    "pictures and arrays": """
import numpy as np
from PIL import Image
def show(model, path, x):
    image = Image.open(path).resize((8, 8))
    scores = model(x).detach().cpu().numpy()
    scores.resize(4, 4)
    return torch.from_numpy(np.array(image)), scores
""",
})
def test_resized(code):
    holds(code)
