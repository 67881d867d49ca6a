"""710: a checkpoint that a helper writes, told where it is put together."""

from tests.torchlint.dryrun.support import holds


def test_a_helper_writes():
    holds("""
def write(state, path):
    torch.save(state, path)

def train(model, loader, path):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    write({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)  # <- 710

def other(model, optimizer, path):
    write({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
""")
