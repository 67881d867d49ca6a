"""401 where a batch is cast behind its move, and where a model's layers stand in a dict under names that are put together."""

from tests.torchlint.dryrun.support import holds, table

NET = """
import collections
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = collections.OrderedDict()
        for i in range(len(sizes) - 1):
            layers["fc" + str(i)] = {layer}
        self.layers = nn.Sequential(layers)

    def forward(self, x):
        return self.layers(x)

def train(train_set: torch.utils.data.Dataset):
    model = Net([784, 100, 10]){placed}
    optimizer = torch.optim.Adam(model.parameters())
    for images, labels in DataLoader(train_set, batch_size=32, shuffle=True):
        images = images.{moved}
        labels = labels.to(device)
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward(){mark}
        optimizer.step()
"""
LAYER = "nn.Linear(sizes[i], sizes[i + 1])"
TOLD = "  # <- 401"


@table({
    "moved": NET.format(layer=LAYER, placed="", moved="to(device)", mark=TOLD),
    "cast behind it": NET.format(layer=LAYER, placed="", moved="to(device).to(torch.float32)", mark=TOLD),
    "cast by type": NET.format(layer=LAYER, placed="", moved="to(device).type(torch.float32)", mark=TOLD),
    "cast by name": NET.format(layer=LAYER, placed="", moved="to(device).to(dtype=torch.float32)", mark=TOLD),
    "the model is moved": NET.format(layer=LAYER, placed=".to(device)", moved="to(device).to(torch.float32)", mark=""),
    "cast alone": NET.format(layer=LAYER, placed="", moved="to(torch.float32)", mark="").replace("labels.to(device)", "labels.long()"),
    "layers that may lie anywhere": NET.format(layer="make_layer(sizes[i])", placed="", moved="to(device)", mark="").replace(
        "import collections", "import collections\nfrom elsewhere import make_layer"),
})
def test_batches_that_are_cast(code):
    holds(code)
