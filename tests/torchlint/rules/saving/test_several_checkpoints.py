"""905 of several checkpoints of one training: one finding for what all of them lack."""

from tests.torchlint.dryrun.support import holds, table

BEGIN = """
def NAME(args, loader, validate):
    model, head = nn.Linear(4, 4), nn.Linear(4, 2)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
    start = 0
    if args.resume:
        checkpoint = torch.load(args.resume)
        start = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])
    for epoch in range(start, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(head(model(x)), y).backward()
            optimizer.step()
"""
FIRST = """
        torch.save({"epoch": epoch + 1, "model": model.state_dict()}, args.path + "/model.pt")  # <- 905
"""
SECOND = """
        torch.save({"epoch": epoch + 1, "model": head.state_dict()}, args.path + "/head.pt")
"""


@table({
    "one": BEGIN.replace("NAME", "main") + FIRST,
    "one for each model": BEGIN.replace("NAME", "main") + FIRST + SECOND,
    "the best one beside the last": BEGIN.replace("NAME", "main") + FIRST + """
        if validate(model):
            torch.save({"epoch": epoch + 1, "model": model.state_dict()}, args.path + "/best.pt")
""",
    "of two trainings": BEGIN.replace("NAME", "first") + FIRST + BEGIN.replace("NAME", "second") + FIRST,
})
def test_one_finding_a_training(code):
    holds(code)
