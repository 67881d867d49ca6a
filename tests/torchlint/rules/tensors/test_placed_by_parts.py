"""401 of a model that hands its input on to a part which puts it on a device."""

from tests.torchlint.dryrun.support import holds, table

MODEL = """
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, images):
        images = {images}
        return self.conv(images).flatten(1)

class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.features, self.head = features, nn.LazyLinear(2)

    def forward(self, x):
        return self.head(self.features(x))

def main():
    model = Net(Features()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for _ in range(8):
            x, y = torch.rand(4, 3, 32, 32), torch.zeros(4).long()
            optimizer.zero_grad()
            F.cross_entropy(model(x), y.cuda()).backward(){mark}
            optimizer.step()
"""


@table({
    "moved": MODEL.format(images="images.cuda()", mark=""),
    "turned and moved": MODEL.format(images="images.permute(0, 1, 3, 2).cuda()", mark=""),
    "reshaped by its own sizes and moved": MODEL.format(images="images.reshape(-1, *images.size()[1:]).to(next(self.parameters()).device)", mark=""),
    "turned only": MODEL.format(images="images.permute(0, 1, 3, 2)", mark="  # <- 401"),
    "as it is": MODEL.format(images="images", mark="  # <- 401"),
})
def test_a_part_places_its_input(code):
    holds(code)
