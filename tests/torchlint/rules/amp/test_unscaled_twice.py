"""712: calls of unscale_ in each round of a loop that updates the scaler every so many batches. 102 and 104: two ways in one loop, each
with a step of its own."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
def train(settings, model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for number, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / settings.steps
        if {asked}:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer){mark}
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if {due}:
                scaler.step(optimizer)
                optimizer.zero_grad()
                scaler.update()
        else:
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@table({
    "beside a way without accumulation": LOOP.format(asked="settings.steps > 1", due="(number + 1) % settings.steps == 0", mark="  # <- 712"),
    "updated in each round": LOOP.format(asked="settings.steps > 1", due="True", mark=""),
    "the other way comes in between": LOOP.format(asked="number % 2", due="(number + 1) % settings.steps == 0", mark=""),
})
def test_rounds(code):
    holds(code)


OPTIONS = """
def read(args):
    config = SimpleNamespace(TRAIN=SimpleNamespace(CLIP=5.0), STEPS=SimpleNamespace())
    if args.steps:
        config.STEPS.every = args.steps
    return config


def main(args, model, loader, optimizer):
    config = read(args)
    scaler = torch.amp.GradScaler("cuda")
    for number, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        if config.STEPS.every > 1:
            scaler.scale(loss / config.STEPS.every).backward()
            scaler.unscale_(optimizer)  # <- 712
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if (number + 1) % config.STEPS.every == 0:
                scaler.step(optimizer)
                optimizer.zero_grad()
                scaler.update()
        else:
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


def test_an_option_that_is_set_only_where_it_is_given():
    holds("from types import SimpleNamespace\n" + OPTIONS)
