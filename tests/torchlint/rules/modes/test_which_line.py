"""202: which line is told, where a function that is called in a loop evaluates."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "a function that trains and then evaluates by itself": """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(x, y):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(x[:80]), y[:80]).backward()
    optimizer.step()
    model.eval()
    loss = F.cross_entropy(model(x[80:]), y[80:])  # <- 202
    return loss.data.item()

def main(x, y):
    seen = []
    for epoch in range(100):
        seen.append(train(x, y))
    print(min(seen))
""",
    "a function of two callers": """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def loss_of(x, y):
    return F.cross_entropy(model(x), y)

def main(batches, others):
    for x, y in batches:
        model.train()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
    model.eval()
    total = 0
    for x, y in others:
        total += loss_of(x, y).item()  # <- 202
    print(total)
""",
})
def test_which_line(code):
    holds(code)
