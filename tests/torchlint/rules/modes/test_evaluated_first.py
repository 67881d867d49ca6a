"""203 where each epoch begins with an evaluation: the training never runs in training mode, though train() is called."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def check(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    %s
    return right

def main(batches, others):
    model.train()
    for epoch in range(10):
        %s
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)%s
            loss.backward()
            optimizer.step()
"""


@table({
    "each epoch begins with it": PROGRAM % ("", "print(check(model, others))", "  # <- 203"),
    "some do": PROGRAM % ("", "if epoch % 2 == 0: print(check(model, others))", "  # <- 203"),
    "it puts the mode back": PROGRAM % ("model.train()", "print(check(model, others))", ""),
    "evaluation mode on purpose, in the training itself": PROGRAM % ("", "model.eval()", ""),
})
def test_evaluated_first(code):
    holds(code)
