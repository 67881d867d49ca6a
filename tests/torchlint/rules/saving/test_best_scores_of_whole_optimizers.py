"""905 of a best score, where the whole optimizer is read out of the checkpoint that a training goes on from."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
def main(args, loader, validate):
    best = 0.0
    if args.net:
        checkpoint = torch.load(args.net, weights_only=False)
        start, model = checkpoint["epoch"], checkpoint["net"]
        {optimizer}
    else:
        start, model = 0, nn.Linear(4, 2)
        optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(start, args.epochs):
        {inside}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        accuracy = validate(model)
        torch.save({{"net": model, "optimizer": optimizer, "epoch": epoch + 1, "best": best}}, "last.pt")  # <- 902
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), "best.pt"){mark}
"""
WHOLE = 'optimizer = checkpoint["optimizer"]'
TOLD = "  # <- 905"


@table({
    "it is not read back": CODE.format(optimizer=WHOLE, inside="pass", mark=TOLD),
    "it is read back": CODE.format(optimizer=f'{WHOLE}; best = checkpoint["best"]', inside="pass", mark=""),
    "the optimizer is brought back in the training alone": CODE.format(
        optimizer="optimizer = torch.optim.Adam(model.parameters())",
        inside="if epoch == 5:\n            back = torch.load('best_of_all.pt', weights_only=False)\n            optimizer = back['optimizer']", mark="",
    ),
})
def test_whole_optimizers(code):
    holds(code)
