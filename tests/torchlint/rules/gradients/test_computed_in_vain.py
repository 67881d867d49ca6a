"""102: of the batches that an accumulation is to add up, only the last one goes backward."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
def build(args):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)

"""


@table({
    "with the step": """
def train(loader, args):
    model, optimizer = build(args)
    for i, (x, y) in enumerate(loader, 1):
        optimizer.zero_grad()  # <- 102
        loss = F.cross_entropy(model(x), y)
        if i % args.every == 0:
            loss.backward()
            optimizer.step()
""",
    "with a scaler, and divided": """
def train(loader, args, scaler: torch.amp.GradScaler):
    model, optimizer = build(args)
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()  # <- 102
        loss = F.cross_entropy(model(x), y)
        loss = loss / 4
        if (i + 1) % 4 == 0:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
""",
    "counted by hand": """
def train(loader, args):
    model, optimizer = build(args)
    count = 0
    for x, y in loader:
        optimizer.zero_grad()  # <- 102
        loss = F.cross_entropy(model(x), y)
        count += 1
        if count % 8 == 0:
            loss.backward()
            optimizer.step()
""",
})
def test_one_batch_of_several_counts(code):
    holds(HEAD + code)


@table({
    "every batch is one that counts": """
def train(loader, args):
    model, optimizer = build(args)
    every = 1
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if i % every == 0:
            loss.backward()
            optimizer.step()
""",
    "the losses are added up": """
def train(loader, args):
    model, optimizer = build(args)
    loss = 0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = loss + F.cross_entropy(model(x), y)
        if (i + 1) % 4 == 0:
            loss.backward()
            optimizer.step()
            loss = 0
""",
    "some epochs train": """
def train(loader, args):
    model, optimizer = build(args)
    for epoch in range(20):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if epoch % 2 == 0:
                loss.backward()
                optimizer.step()
""",
    "the others measure": """
def train(loader, args):
    model, optimizer = build(args)
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if i % 5 == 0:
            loss.backward()
            optimizer.step()
        else:
            print(loss.item())
""",
    "all of it is done every so often": """
def train(loader, args):
    model, optimizer = build(args)
    for i, (x, y) in enumerate(loader):
        if i % 5 == 0:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
""",
    "a generator learns more rarely than it is asked": """
def train(loader, args):
    model, optimizer = build(args)
    judge = nn.Linear(3, 1)
    other = torch.optim.SGD(judge.parameters(), lr=0.1)
    for i, x in enumerate(loader):
        optimizer.zero_grad()
        fake = model(x)
        other.zero_grad()
        judge(fake.detach()).mean().backward()
        other.step()
        loss = -judge(fake).mean()
        if i % 5 == 0:
            loss.backward()
            optimizer.step()
""",
})
def test_left_alone(code):
    holds(HEAD + code)
