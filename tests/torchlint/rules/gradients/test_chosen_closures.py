"""126 of an optimizer that an argument chooses, where the caller knows two values that it may have."""

from tests.torchlint.dryrun.support import holds, table

CHOSEN = """
def train(model, loader, whole=False):
    optimizer = torch.optim.Adam(model.parameters())
    if whole:
        optimizer = torch.optim.LBFGS(model.parameters())
    for x, y in loader:
        if whole:
            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                return loss
            optimizer.step({closure})
        {between}
        if not whole:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        {behind}

def main(options, loader):
    {choice}
    train(nn.Linear(3, 1), loader, {given})
"""
MISSING = "  # <- 126\n"


def chosen(choice, given, closure="closure", between="pass", behind="pass"):
    return CHOSEN.format(choice=choice, given=given, closure=closure, between=between, behind=behind)


SOMETIMES = "whole = False\n    if options.small:\n        whole = True"


@table({
    "one of two values": chosen(SOMETIMES, "whole"),
    "set on some path": chosen("if options.small:\n        options.whole = True", "whole=options.whole"),
    "unknown": chosen("pass", "options.whole"),
    "no closure under it": chosen(SOMETIMES, "whole", closure=")" + MISSING + "            print("),
})
def test_the_step_of_the_other_one_needs_no_closure(code):
    holds(code)
