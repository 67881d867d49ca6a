"""Models that the program makes, or that it loads whole: what is loaded is one that it has made before."""

from tests.torchlint.dryrun.support import events, holds, runs, table
from torchlint.dryrun.values import Instance, Opaque, real

PROGRAM = """
from elsewhere import build

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return {out}

def train(loader, args):
    if args.snapshot is None:
        model = Net(args.classes)
    else:
        {loaded}
    if torch.cuda.is_available():
        model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        {scores} = {call}
        F.cross_entropy(scores, y).backward(){mark}
        optimizer.step()
"""
SOFTMAX = "F.softmax(self.fc(x), dim=1)"


def program(mark="", out=SOFTMAX, loaded="model = torch.load(args.snapshot, weights_only=False)", scores="scores", call="model(x)"):
    return PROGRAM.format(mark=mark, out=out, loaded=loaded, scores=scores, call=call)


BAD = "  # <- 301"


@table({
    "loaded whole": program(BAD),
    "with something beside the scores": program(BAD, out=SOFTMAX + ", x", scores="scores, _"),
    "by its forward": program(BAD, call="model.forward(x)"),
    "where it may be loaded": program(
        BAD, loaded="try:\n            model = torch.load(args.snapshot, weights_only=False)\n        except OSError:\n            exit()"
    ),
    "beside other things": program(BAD, loaded="checkpoint = torch.load(args.snapshot, weights_only=False)\n        model = checkpoint['model']"),
    "raw scores": program(out="self.fc(x)"),
    "raw scores, and beside other things": program(out="self.fc(x)", loaded="model = torch.load(args.snapshot, weights_only=False)['model']"),
    "what an item of it gives": program(loaded="model = torch.load(args.snapshot, weights_only=False)['make'](args.classes)"),
    "made elsewhere": program(loaded="model = build(args.snapshot)"),
    "one that is not known beside it": program(
        loaded="model = torch.load(args.snapshot, weights_only=False) if args.whole else build(args.snapshot)"
    ),
    "made of what was loaded": program(loaded="model = build(torch.load(args.snapshot, weights_only=False))"),
})
def test_loaded_whole(code):
    holds(code)


def test_a_loss_comes_out_of_whichever_it_was():
    run = next(run for run in runs(program()) if events(run, "backward"))
    flows = events(run, "backward")[0].flows
    models = {type(alt) for flow in flows if flow.kind == "forward" and not flow.get("inside") for alt in real(flow.subject)}
    assert models == {Instance, Opaque}
