"""105: what is left over at the end of an epoch, where scripts say by arguments how long they accumulate."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
def main(args, loader, model):
    {before}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            {body}
            if (step + 1) % args.accumulation_steps == 0:
                optimizer.step(){mark}
                optimizer.zero_grad()
"""
TOLD = "  # <- 105"


def program(body, mark=TOLD, before="pass"):
    return LOOP.format(body=body, mark=mark, before=before)


@table({
    "the loss is made in several ways": program("""if args.n_gpu > 1:
                loss = loss.mean()
            if args.accumulation_steps > 1:
                loss = loss / args.accumulation_steps
            loss.backward()"""),
    "a backward for each precision": program("""loss = loss / args.accumulation_steps
            if args.fp16:
                optimizer.backward(loss)
            else:
                loss.backward()"""),
    "with apex": "from apex import amp\n" + program("""loss = loss / args.accumulation_steps
            if args.fp16:
                with amp.scale_loss(loss, optimizer) as scaled:
                    scaled.backward()
                torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
            else:
                loss.backward()"""),
    "the model comes from from_pretrained": "from missing import Tagger\n" + program("""loss = loss / args.accumulation_steps
            loss.backward()""", before="model = Tagger.from_pretrained(args.name)"),
    "not each batch goes backward": program("""loss = loss / args.accumulation_steps
            if torch.isfinite(loss):
                loss.backward()""", mark=""),
    "a call that is not seen is given the optimizer": program("""loss = loss / args.accumulation_steps
            loss.backward()
            finish(optimizer)""", mark=""),
})
def test_left_over(code):
    holds(code)


COUNTED = """
def once(args, loader, model, optimizer):
    {start}
    for x, y in loader:
        loss = F.cross_entropy(model(x), y) / args.every
        loss.backward()
        {count}
        if {asked}:
            optimizer.step(){mark}
            optimizer.zero_grad()
            {back}
    {rest}

def main(args, loader, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        once(args, loader, model, optimizer)
"""


def counted(mark=TOLD, start="seen = 0", count="seen += 1", asked="seen == args.every", back="seen = 0", rest="pass"):
    return COUNTED.format(start=start, count=count, asked=asked, mark=mark, back=back, rest=rest)


@table({
    "up to the number of batches": counted(),
    "as many or more": counted(asked="seen >= args.every"),
    "what is over is stepped": counted(mark="", rest="if seen: optimizer.step(); optimizer.zero_grad()"),
    "what is over is dropped": counted(mark="", start="seen = 0; optimizer.zero_grad()"),
    "a step once in an epoch": counted(mark="", back="pass"),
    "counted otherwise": counted(mark="", count="seen += len(x)"),
    "or the last batch": counted(mark="", asked="seen == args.every or x is None"),
    "counted over all epochs": """
def main(args, loader, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y) / args.every
            loss.backward()
            seen += 1
            if seen == args.every:
                optimizer.step()
                optimizer.zero_grad()
                seen = 0
""",
    "and not divided": """
def main(args, loader, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            loss.backward()  # <- 104
            seen += 1
            if seen == 4:
                optimizer.step()
                optimizer.zero_grad()
                seen = 0
""",
    "cleared for each batch": """
def main(args, loader, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()  # <- 102
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            seen += 1
            if seen == args.every:
                optimizer.step()
                seen = 0
""",
})
def test_counted_by_hand(code):
    holds(code)


WHOLE = """
from missing import Net, groups

class Smooth(nn.Module):
    def forward(self, scores, labels):
        return F.cross_entropy(scores, labels, label_smoothing=0.1)

def main(args, loader, state):
    {made}
    for epoch in range(args.epochs):
        for step, (x, y) in enumerate(loader):
            loss = {loss} / args.every
            loss.backward()
            if (step + 1) % args.every == 0:
                optimizer.step(){mark}
                optimizer.zero_grad()
"""
RESUMED = "model, optimizer, criterion = state['model'], state['optimizer'], Smooth()"
WRAPPED = "model = nn.DataParallel(Net()); optimizer = torch.optim.SGD(groups(args), lr=0.1); criterion = nn.CrossEntropyLoss()"


@table({
    "a loss of its own beside a model that is not seen": WHOLE.format(made=RESUMED, loss="criterion(model(x), y)", mark=TOLD),
    "of a wrapped model by an optimizer of what is not seen": WHOLE.format(made=WRAPPED, loss="criterion(model(x), y)", mark=TOLD),
    "only the loss of its own is seen": WHOLE.format(made=RESUMED, loss="criterion(args.scores, y)", mark=""),
})
def test_which_model(code):
    holds(code)
