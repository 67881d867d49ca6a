"""202 and 201 of what has no parameters, and of what knows no modes."""

from tests.torchlint.dryrun.support import holds, table

SPECTRUM = """
class Spectrum(nn.Module):
    def __init__(self, size, bands):
        super().__init__()
        window = torch.hann_window(size).float()
        self.register_buffer("window", window)
        self.size, self.bands = size, bands
        %s

    def forward(self, sound):
        return torch.log(sound * self.window + 1e-5)

def measure(others):
    spectrum = Spectrum(1024, 80).cuda()
    spectrum.eval()
    total = 0
    for sound, kind in others:
        total += (spectrum(sound).argmax(1) == kind).sum().item()%s
    return total
"""

NET = """
class Net(%s):
    def __init__(self, size, name):
        super().__init__()
        self.act = %s
        self.head = nn.Linear(size, 4)

    def forward(self, x):
        return self.act(self.head(x))

def main(batches, others, name, size):
    net = Net(size, name)
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(10):
        net.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            total = 0
            for x, y in others:
                total += F.mse_loss(net(x), y).item()%s
        print(total)
"""


@table({
    "buffers alone": SPECTRUM % ("", ""),
    "a layer, too": SPECTRUM % ("self.mel = nn.Linear(size, bands)  # <- 506", "  # <- 202"),
    "a parameter": SPECTRUM % ("self.scale = nn.Parameter(torch.ones(1))", "  # <- 202"),
    "a parameter by name": SPECTRUM % ("self.register_parameter('scale', nn.Parameter(torch.ones(1)))", "  # <- 202"),
    "something by name": SPECTRUM % ("setattr(self, 'mel', nn.Linear(size, bands))", "  # <- 202"),
})
def test_without_parameters(code):
    holds(code)


@table({
    "a function by its name": NET % ("nn.Module", "getattr(F, name)", ""),
    "of torch itself, in a scripted module": NET % ("torch.jit.ScriptModule", "getattr(torch, name)", ""),
    "a layer by its name": NET % ("nn.Module", "getattr(nn, name)()", "  # <- 201"),
    "something that is not known": NET % ("nn.Module", "name", "  # <- 201"),
})
def test_without_modes(code):
    holds(code)
