"""710: a checkpoint that a helper writes, told where it is put together."""

import pytest

from tests.torchlint.dryrun.support import holds, table


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


TRAINED = """
def train(model, loader, path, args):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optim": WHAT}, path)
"""


@pytest.mark.parametrize(("what", "told"), [
    ("optimizer.state_dict()", True), ('{"main": optimizer.state_dict()}', True),
    ('{"step": 4, "main": optimizer.state_dict()}', True), ('{"step": args.step}', False), ('{"step": 4}', False), ('"adam"', False),
])
def test_what_stands_under_the_name_of_an_optimizer(what, told):
    code = TRAINED.replace("WHAT", what)
    holds(code.replace("path)\n", "path)  # <- 710\n") if told else code)


@pytest.mark.parametrize(("line", "told"), [
    ('hasattr(args, "mel_scaler")', True), ("args.size if hasattr(args, 'scaler') else 1", True),
    ('args.state["scaler"] if hasattr(args, "scaler") else None', False), ('args.state.get("scaler")', False),
    ('[getattr(args, name).state_dict() for name in ("model", "scaler")]', False),
])
def test_an_attribute_that_is_asked_for_is_no_key(line, told):
    code = TRAINED.replace("WHAT", "optimizer.state_dict()") + f"\ndef shown(args):\n    return {line}\n"
    holds(code.replace("path)\n", "path)  # <- 710\n") if told else code)


BY_APEX = """
{imports}

def train(model, loader, path, args):
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer = {made}
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
    torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(){more}}}, path){mark}
"""


def by_apex(made="amp.initialize(model, optimizer, opt_level='O1')", more="", imports="from apex import amp", told=True):
    return BY_APEX.format(made=made, more=more, imports=imports, mark="  # <- 710" if told else "")


@table({
    "of its first level": by_apex(),
    "of the level that it has by itself": by_apex("amp.initialize(model, optimizer)"),
    "of a level that is an option": by_apex("amp.initialize(model, optimizer, opt_level=args.level)"),
    "where there is one": by_apex(imports="try:\n    from apex import amp\nexcept ImportError:\n    amp = None"),
    "as an option": by_apex("amp.initialize(model, optimizer) if args.half else (model, optimizer)"),
    "its scales are saved": by_apex(more=", 'amp': amp.state_dict()", told=False),
    "in float32": by_apex("amp.initialize(model, optimizer, opt_level='O0')", told=False),
    "by a scale that is given": by_apex("amp.initialize(model, optimizer, loss_scale=128.0)", told=False),
    "by a scale that may be given": by_apex("amp.initialize(model, optimizer, loss_scale=args.scale)", told=False),
    "of another package": by_apex(imports="from mixed import amp", told=False),
})
def test_by_apex(code):
    holds(code)


IN_FILES = """
def train(model, loader, scaler_path):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save(model.state_dict(), "model.pt")
    {saves}
"""


@table({
    "the optimizer's state in a file of its own": IN_FILES.format(saves='torch.save(optimizer.state_dict(), "optimizer.pt")  # <- 710'),
    "the scaler's, too": IN_FILES.format(saves='torch.save(optimizer.state_dict(), "optimizer.pt")\n    torch.save(scaler.state_dict(), "s.pt")'),
    "the weights alone": IN_FILES.format(saves="pass"),
    "twice": IN_FILES.format(
        saves='torch.save(optimizer.state_dict(), "optimizer.pt")  # <- 710\n    torch.save(optimizer.state_dict(), "last.pt")'),
})
def test_files_of_their_own(code):
    holds(code)
