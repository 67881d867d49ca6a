"""202 of models whose forward calls layers under names that are put together: they go backward through nothing."""

from tests.torchlint.dryrun.support import holds, table

NET = """
from torch.utils.data import DataLoader
{imports}

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            setattr(self, f"layer{{i}}", nn.Linear(8, 8))

    def forward(self, x):
        for i in range(self.depth):
            x = {called}(x)
        return x

def main(test_set: torch.utils.data.Dataset, depth: int):
    encoder, model = nn.Linear(8, 8), Net(depth)
    encoder.eval(), model.eval()
    total = 0
    for x, y in DataLoader(test_set, batch_size=8):
        features = encoder(x){encoder}
        total += model(features).mean().item()
    print(total)
"""
TOLD = "  # <- 202"


@table({
    "a name that is put together": NET.format(imports="", called='getattr(self, f"layer{i}")', encoder=TOLD),
    "of two parts": NET.format(imports="", called='getattr(self, "layer" + str(i))', encoder=TOLD),
    "somebody who is not seen": NET.format(imports="from elsewhere import layers", called="layers[i]", encoder=""),
    "what is not seen gives it": NET.format(imports="from elsewhere import layer_of", called="layer_of(self, i)", encoder=""),
})
def test_layers_under_names_that_are_put_together(code):
    holds(code)
