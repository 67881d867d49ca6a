"""905 where a training begins with the newest of the files that it writes."""

from tests.torchlint.dryrun.support import holds, table
from tests.torchlint.rules.saving.test_own_checkpoints import LOOP, MADE

BEGIN = "import os\nfrom glob import glob\n" + MADE


@table({
    "the last that matches a pattern": BEGIN + """
    found = glob(os.path.join(folder, "net_epoch*.pth"))
    found.sort()
    if len(found) != 0:
        model.load_state_dict(torch.load(found[-1], map_location="cpu"))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), "%s/net_epoch_%04d.pth" % (args.out, epoch))
""",
    "the last of a folder": BEGIN + """
    names = os.listdir(folder)
    names = sorted(names, key=os.path.getmtime)
    if names:
        model.load_state_dict(torch.load(os.path.join(folder, names[-1])))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
""",
    "the newest of a folder": BEGIN + """
    if args.go_on:
        newest = max(glob(folder + "/net*.pth"), key=os.path.getctime)
        model.load_state_dict(torch.load(newest))  # <- 905
""" + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
""",
    "the newest of another folder": BEGIN + """
    names = sorted(os.listdir("weights"))
    if names:
        model.load_state_dict(torch.load(os.path.join("weights", names[-1])))
""" + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
""",
    "the newest of other files": BEGIN + """
    names = sorted(glob(folder + "/encoder*.pth"))
    if names:
        model.load_state_dict(torch.load(names[-1]))
""" + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
""",
    "the newest is looked at when the training is done": BEGIN + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
    names = sorted(glob(folder + "/net*.pth"))
    model.load_state_dict(torch.load(names[-1]))
""",
    "the first": BEGIN + """
    names = sorted(glob(folder + "/net*.pth"))
    if names:
        model.load_state_dict(torch.load(names[0]))
""" + LOOP + """
        torch.save(model.state_dict(), f"{folder}/net_{epoch}.pth")
""",
})
def test_newest(code):
    holds(code)


RESUMED = BEGIN + """
    if args.resume:
        checkpoint = torch.load(args.resume, weights_only=False)
        READ
""" + LOOP + """
        torch.save(model.state_dict(), "last.pth")
"""


@table({
    "of a whole model": RESUMED.replace("READ", """names = {key[7:]: value for key, value in checkpoint.state_dict().items()}
        model.load_state_dict(names)  # <- 905"""),
    "by a helper, of other weights first": "from tools import partial_load\n" + RESUMED.replace("    if args.resume:", """    if len(args.pretrained) > 0:
        print("resuming from a checkpoint")
        partial_load(torch.load(args.pretrained)["model"], model)
    if args.resume:""").replace("READ", 'partial_load(checkpoint["model"], model)  # <- 905').replace("range(args.epochs)", "range(args.start, args.epochs)"),
    "by a helper that leaves some out": "from tools import partial_load, load_my_state_dict\n" + RESUMED.replace(
        "READ", 'partial_load(checkpoint["model"], model)  # <- 905'),
    "by a helper of its own": "from tools import partial_load, load_my_state_dict\n" + RESUMED.replace(
        "READ", 'model = load_my_state_dict(model, checkpoint["model"])  # <- 905'),
})
def test_states_that_are_remade(code):
    holds(code)
