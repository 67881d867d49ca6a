"""102: each turn of a loop clears what the turn before has left for a step behind the loop."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
def build():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)

"""


@table({
    "a step behind the loop over batches": """
def train(loader, epochs):
    model, optimizer = build()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()  # <- 102
            loss = F.cross_entropy(model(x), y)
            loss.backward()
        optimizer.step()
""",
    "a generator in several turns, cleared through its wrapper": """
def train(noise, args):
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam(generator.parameters())
    optimizer_c = torch.optim.Adam(critic.parameters())
    generator, critic = nn.DataParallel(generator).cuda(), critic.cuda()
    for real in noise.cuda():
        for _ in range(args.turns):
            generator.zero_grad()  # <- 102
            cost = -critic(generator(real)).mean()
            cost.backward()
        optimizer.step()
        for _ in range(args.critic_turns):
            optimizer_c.zero_grad()
            judged = critic(generator(real).detach()).mean() - critic(real).mean()
            judged.backward()
            optimizer_c.step()
""",
    "a whole epoch in a function": """
def epoch(model, optimizer, loader):
    for x, y in loader:
        model.zero_grad()  # <- 102
        F.cross_entropy(model(x), y).backward()
    optimizer.step()

def main(loader, epochs):
    model, optimizer = build()
    for _ in range(epochs):
        epoch(model, optimizer, loader)
""",
})
def test_the_last_turn_alone_counts(code):
    holds(HEAD + code)


@table({
    "cleared in front of the loop": """
def train(loader, epochs):
    model, optimizer = build()
    for epoch in range(epochs):
        optimizer.zero_grad()
        for x, y in loader:
            F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
    "a step in the loop, and the last of another kind": """
def train(loader, epochs):
    model, optimizer = build()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        optimizer.step()
""",
    "gradients of an attack": """
def train(loader, turns):
    model, optimizer = build()
    for x, y in loader:
        noise = torch.zeros_like(x)
        for _ in range(turns):
            model.zero_grad()
            noise = noise.detach().requires_grad_()
            F.cross_entropy(model(x + noise), y).backward()
            noise = noise + 0.1 * noise.grad.sign()
        optimizer.zero_grad()
        F.cross_entropy(model(x + noise.detach()), y).backward()
        optimizer.step()
""",
    "gradients that are kept by hand": """
def keep(model, sums):
    for name, p in model.named_parameters():
        sums[name] = sums.get(name, 0) + p.grad.clamp(-1, 1)

def train(loader):
    model, optimizer = build()
    for rows in loader:
        sums = {}
        for x, y in rows:
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            keep(model, sums)
        for name, p in model.named_parameters():
            p.grad = sums[name]
        optimizer.step()
""",
    "another try": """
def train(loader):
    model, optimizer = build()
    for x, y in loader:
        for attempt in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            if torch.isfinite(loss):
                break
        optimizer.step()
""",
    "one turn": """
def train(loader):
    model, optimizer = build()
    for x, y in loader:
        for _ in range(1):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
    "the last turn alone goes backward": """
def train(loader, turns):
    model, optimizer = build()
    for x, y in loader:
        for i in range(turns):
            optimizer.zero_grad()
            x = model(x)
            if i == turns - 1:
                F.cross_entropy(x, y).backward()
        optimizer.step()
""",
    "another model is cleared": """
def train(loader, turns):
    model, optimizer = build()
    judge = nn.Linear(3, 1)
    optimizer_j = torch.optim.SGD(judge.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        for _ in range(turns):
            judge.zero_grad()
            judge(model(x)).mean().backward()
            optimizer_j.step()
        optimizer.step()
""",
})
def test_what_comes_in_time_is_left_alone(code):
    holds(HEAD + code)
