"""905 where the program's own weights are called pretrained, and the epochs begin at a number that has a name."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
GO_ON = True
done = 200

def main(loader):
    model = nn.Linear(4, 2)
    if GO_ON_pretrained == True:
        READMARK
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(START):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        torch.save(model, "./pretrained_models/model_" + str(epoch) + ".pt")  # <- 902
    torch.save(model, "./pretrained_models/model.pt")  # <- 902
"""
WHOLE = "model = torch.load('pretrained_models/model.pt', map_location='cpu', weights_only=False)"
STATE = "model.load_state_dict(torch.load('pretrained_models/model.pt', weights_only=True))"


def code(read=WHOLE, start="done, 500", mark="  # <- 905"):
    return CODE.replace("READ", read).replace("START", start).replace("MARK", mark)


@table({
    "a whole model": code(),
    "its weights": code(STATE),
    "a beginning of its own": code(start="0, 500", mark=""),
    "another file": code(WHOLE.replace("model.pt", "resnet.pt"), mark=""),
    "for a test": code().replace("GO_ON_pretrained", "test_pretrained").replace("  # <- 905", ""),
})
def test_called_pretrained(code):
    holds(code)
