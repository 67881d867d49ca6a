"""905 where the number of the epochs that are done is added to each turn's, in a loop that counts from the first."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
def train(model: nn.Module, loader, epochs, done, folder):
    optimizer = torch.optim.Adam(model.parameters())
    if ASKED:
        model.load_state_dict(torch.load(READ, weights_only=True))MARK
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        print(SHOWN)
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
"""
BAD = "  # <- 905"


def program(mark="", asked="done != 0", read='"%s/%d.bin" % (folder, done)', shown="epoch + 1 + done"):
    return PROGRAM.replace("ASKED", asked).replace("READ", read).replace("SHOWN", shown).replace("MARK", mark)


@table({
    "it is another one than 0": program(BAD),
    "more than 0": program(BAD, asked="done > 0"),
    "asked for short": program(BAD, asked="done"),
    "the other way round": program(BAD, shown="done + epoch"),
    "in brackets": program(BAD, shown="(epoch + done) % 10"),
    "the file is another one": program(read="folder + '/first.bin'"),
    "nothing is asked": program(asked="folder"),
    "it is added to nothing": program(shown="epoch, done"),
    "it is asked for as a kind": program(asked="done == 3"),
    "of a training before": program(read='"%s/pretrained_%d.bin" % (folder, done)'),
})
def test_number_that_is_added(code):
    holds(code)
