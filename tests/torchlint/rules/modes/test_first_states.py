"""202: zeros that a recurrent layer begins with may want a gradient by their own word, and nobody asks for it."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out, self.drop = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1), nn.Dropout(0.2)

    def predict(self, x):
        {state}
        found, _ = self.lstm(x, (h, h))
        return self.out(self.drop(found))


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in loader:
        loss = nn.functional.l1_loss(net.predict(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    found = net.predict(x_test){mark}
    print(found.detach().numpy().mean())
    net.train()
"""


@table({
    "zeros": PROGRAM.format(state="h = torch.zeros(1, x.size(0), 8).requires_grad_()", mark="  # <- 202"),
    "zeros that are moved": PROGRAM.format(state="h = torch.zeros(1, x.size(0), 8).to(x.device).requires_grad_()", mark="  # <- 202"),
    "a state that is learned by hand": PROGRAM.format(state="h = start.requires_grad_()", mark=""),
    "zeros whose gradient is shown": PROGRAM.format(state="h = torch.zeros(1, x.size(0), 8).requires_grad_(); h.register_hook(lambda grad: print(grad))", mark=""),
})
def test_states_that_want_gradients(code):
    holds(code)
