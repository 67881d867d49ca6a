"""901 of what a function loads and gives back: who has called it asks for the keys."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import argparse

def read(path):
    print(path)
    BODY

def main(net: nn.Module):
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    args = parser.parse_args()
    optimizer = torch.optim.Adam(net.parameters())
    if args.resume:
        checkpoint = read(args.resume)
        net.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "args": GIVEN}, "last.pt")

main(nn.Linear(4, 2))
"""
SETTINGS = """
def read(path):
    BODY

def load(path, build):
    checkpoint = read(path)
    net = build(checkpoint["args"].arch)
    net.load_state_dict(checkpoint["state_dict"])
    return net
"""
LOAD = 'torch.load(path, map_location="cpu")'
MARKED = LOAD + "  # <- 901"


def code(body, given="args"):
    return CODE.replace("BODY", body).replace("GIVEN", given)


@table({
    "at once": code(f"return {MARKED}"),
    "by its name": code(f"state = {MARKED}\n    return state"),
    "plain settings": code(f"return {LOAD}", "vars(args)"),
    "something else of it": code(f'state = {LOAD}\n    return state["plain"]'),
    "something else by that name": code(f"state = {LOAD}\n    state = dict(model=state)\n    return state"),
    "settings whose attributes are asked": SETTINGS.replace("BODY", f"return {MARKED}"),
    "what another function reads": SETTINGS.replace("BODY", f"state = {LOAD}\n    return convert(state)"),
})
def test_what_is_given_back(code):
    holds(code)
