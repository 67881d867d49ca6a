"""Calls: what the project defines is run where it is called, with what it is called with."""

from torchlint.dryrun.values import Class, Const, Func, Instance, Iter, Opaque, Seq, Tensor

from .support import events, holds, runs, table

INLINED = {
    "function": """
def probs(x):
    return x.softmax(1)

def f(x, y):
    return F.cross_entropy(probs(x), y)  # <- 301
""",
    "keyword_and_default": """
def probs(x, *, on=True, dim=1):
    if on:
        return x.softmax(dim)
    return x

def f(x, y):
    F.cross_entropy(probs(x, on=False), y)
    F.cross_entropy(probs(on=True, x=x), y)  # <- 301
    return F.cross_entropy(probs(x), y)  # <- 301
""",
    "positional_only": """
def pick(x, z, /, w):
    return z

def f(x, y):
    F.cross_entropy(pick(x.softmax(1), x, x), y)
    return F.cross_entropy(pick(x, x.softmax(1), w=x), y)  # <- 301
""",
    "returns_on_paths": """
def maybe(x, flag):
    if flag:
        return x
    return x.softmax(1)

def always(x, flag):
    if flag:
        return x.softmax(1)
    elif flag is None:
        raise ValueError
    return x.softmax(-1)

def f(x, y, flag):
    F.cross_entropy(maybe(x, flag), y)
    return F.cross_entropy(always(x, flag), y)  # <- 301
""",
    "flag_of_the_caller": """
def part(x, y, is_train):
    if not is_train:
        x = x.softmax(1)
    return F.cross_entropy(x, y)  # <- 301

def f(x, y, is_train=True):
    if is_train:
        return part(x, y, is_train)
    else:
        return part(x, y, is_train)
""",
    "flag_forgotten_after_it": """
def part(x, y, is_train):
    if not is_train:
        x = x.softmax(1)
    return F.cross_entropy(x, y)

def f(x, y, is_train=True):
    if is_train:
        print("training")
    is_test = not is_train
    return part(x, y, is_train), part(x, y, is_test)
""",
    "several_results": """
def both(x):
    return x, x.softmax(1)

def f(x, y):
    logits, probs = both(x)
    F.cross_entropy(logits, y)
    F.cross_entropy(probs, y)  # <- 301
    return F.cross_entropy(both(x)[1], y)  # <- 301
""",
    "closure": """
def f(x, y):
    scale = x.softmax(1)

    def inner():
        return scale

    return F.cross_entropy(inner(), y)  # <- 301
""",
    "closure_handed_out": """
def maker(dim):
    def inner(x):
        return x.softmax(dim)
    return inner

def f(x, y):
    make = maker(1)
    return F.cross_entropy(make(x), y)  # <- 301
""",
    "nonlocal": """
def f(x, y):
    p = x

    def change():
        nonlocal p
        p = x.softmax(1)

    change()
    return F.cross_entropy(p, y)  # <- 301
""",
    "nonlocal_two_levels_out": """
def f(x, y):
    p = x

    def outer():
        def change():
            nonlocal p
            p = x.softmax(1)
        change()

    outer()
    return F.cross_entropy(p, y)  # <- 301
""",
    "without_nonlocal": """
def f(x, y):
    p = x

    def change():
        p = x.softmax(1)

    change()
    return F.cross_entropy(p, y)
""",
    "global": """
p = None

def change(x):
    global p
    p = x.softmax(1)

def f(x, y):
    change(x)
    return F.cross_entropy(p, y)  # <- 301
""",
    "star_arguments": """
def pick(*args, **kwargs):
    return args[1], kwargs["z"]

def f(x, y):
    pair = [x, x.softmax(1)]
    more = {"z": x.softmax(1)}
    a, b = pick(*pair, **more)
    F.cross_entropy(a, y)  # <- 301
    F.cross_entropy(b, y)  # <- 301
    a, b = pick(*reversed(pair), z=x)
    F.cross_entropy(b, y)
""",
    "star_arguments_handed_on": """
def probs(x, dim):
    return x.softmax(dim)

def wrap(*args, **kwargs):
    return probs(*args, **kwargs)

def f(x, y):
    return F.cross_entropy(wrap(x, dim=1), y)  # <- 301
""",
    "star_arguments_unknown": """
def pick(a=None, b=None, *, c=None):
    return a

def f(x, y, args, kwargs):
    F.cross_entropy(pick(*args), y)
    F.cross_entropy(pick(b=x.softmax(1), **kwargs), y)
    return F.cross_entropy(pick(x.softmax(1), *args), y)  # <- 301
""",
    "dict_call": """
def f(x, y):
    args = dict(input=x.softmax(1), target=y)
    return F.cross_entropy(**args)  # <- 301
""",
    "partial": """
from functools import partial

def probs(dim, x):
    return x.softmax(dim)

def f(x, y):
    make = partial(probs, 1)
    late = partial(F.softmax, dim=1)
    F.cross_entropy(make(x), y)  # <- 301
    return F.cross_entropy(late(x), y)  # <- 301
""",
    "lambda": """
soft = lambda x, dim=1: x.softmax(dim)

def f(x, y):
    F.cross_entropy((lambda z: z)(x), y)
    return F.cross_entropy(soft(x), y)  # <- 301
""",
    "function_as_value": """
def hard(x):
    return x

def soft(x):
    return x.softmax(1)

HEADS = {"hard": hard, "soft": soft}

def f(x, y, kind, flag):
    head = soft
    F.cross_entropy(head(x), y)  # <- 301
    F.cross_entropy(HEADS["soft"](x), y)  # <- 301
    F.cross_entropy(HEADS["hard"](x), y)
    head = soft if flag else hard
    return F.cross_entropy(head(x), y)
""",
    "function_given": """
def apply(head, x):
    return head(x)

def f(x, y):
    F.cross_entropy(apply(torch.sigmoid, x), y)  # <- 313
    return F.cross_entropy(apply(lambda z: z.softmax(1), x), y)  # <- 301
""",
    "property": """
class Batch:
    def __init__(self, x):
        self.x = x

    @property
    def probs(self):
        return self.x.softmax(1)

def f(x, y):
    return F.cross_entropy(Batch(x).probs, y)  # <- 301
""",
    "classmethod_and_staticmethod": """
class Head:
    dim = 1

    @classmethod
    def soft(cls, x):
        return x.softmax(cls.dim)

    @staticmethod
    def also(x):
        return x.softmax(1)

    @staticmethod
    def not_at_all(x, z):
        return z

def f(x, y):
    F.cross_entropy(Head.soft(x), y)  # <- 301
    F.cross_entropy(Head().soft(x), y)  # <- 301
    F.cross_entropy(Head.also(x), y)  # <- 301
    F.cross_entropy(Head().not_at_all(x.softmax(1), x), y)
    return F.cross_entropy(Head().also(x), y)  # <- 301
""",
    "super_chain": """
class A:
    def out(self, x):
        return x.softmax(1)

class B(A):
    def out(self, x):
        return super().out(x)

class C(B):
    def out(self, x):
        return super(C, self).out(x)

class D(C):
    def out(self, x):
        return B.out(self, x) * 1.0 if x is None else C.out(self, x)

def f(x, y):
    F.cross_entropy(C().out(x), y)  # <- 301
    return F.cross_entropy(D().out(x), y)
""",
    "super_of_a_diamond": """
class A:
    def out(self, x):
        return x

class B(A):
    pass

class C(A):
    def out(self, x):
        return x.softmax(1)

class D(B, C):
    pass

def f(x, y):
    return F.cross_entropy(D().out(x), y)  # <- 301
""",
    "call_of_an_object": """
class Head:
    def __call__(self, x):
        return x.softmax(1)

def f(x, y):
    head = Head()
    return F.cross_entropy(head(x), y)  # <- 301
""",
    "call_of_a_module": """
class Head(nn.Module):
    def forward(self, x):
        return x.softmax(1)

def f(x, y):
    head = Head()
    F.cross_entropy(head.forward(x), y)  # <- 301
    return F.cross_entropy(head(x), y)  # <- 301
""",
    "method_as_value": """
class Head:
    def soft(self, x):
        return x.softmax(1)

def f(x, y):
    soft = Head().soft
    return F.cross_entropy(soft(x), y)  # <- 301
""",
    "generator": """
def batches(xs):
    for x in xs:
        yield x.softmax(1)

def raw(xs):
    yield from xs

def f(xs, y):
    for p in batches(xs):
        F.cross_entropy(p, y)  # <- 301
    for p in raw(xs):
        F.cross_entropy(p, y)
    return F.cross_entropy(next(batches(xs)), y)  # <- 301
""",
    "map": """
def soft(x):
    return x.softmax(1)

def f(xs, y):
    for p in map(soft, xs):
        F.cross_entropy(p, y)  # <- 301
    for p in sorted(map(lambda x: x, xs)):
        F.cross_entropy(p, y)
""",
    "getattr_and_setattr": """
def f(x, y, holder):
    setattr(holder, "probs", x.softmax(1))
    F.cross_entropy(getattr(holder, "logits"), y)
    return F.cross_entropy(getattr(holder, "probs"), y)  # <- 301
""",
    "iterator_class": """
class Batches:
    def __init__(self, xs):
        self.xs = xs

    def __next__(self):
        return self.xs.softmax(1)

def f(xs, y):
    return F.cross_entropy(next(Batches(xs)), y)  # <- 301
""",
    "decorated": """
import functools

@functools.lru_cache(maxsize=None)
def cached(x):
    return x.softmax(1)

def f(x, y):
    return F.cross_entropy(cached(x), y)  # <- 301
""",
    "builtins": """
def f(x, y):
    F.cross_entropy(list((x.softmax(1), x))[0], y)  # <- 301
    F.cross_entropy(dict(a=x.softmax(1))["a"], y)  # <- 301
    F.cross_entropy(dict({"a": x.softmax(1)})["a"], y)  # <- 301
    F.cross_entropy(tuple([x, x.softmax(1)])[0], y)
    F.cross_entropy(max(x, x), y)
""",
}

# A forward is run once for calls that are alike; these are not.
INLINED["forward_by_argument"] = """
class Net(nn.Module):
    def forward(self, x, soft=False, head=None):
        if head is not None:
            return head(x)
        return x.softmax(1) if soft else x

def hard(x):
    return x

def soft(x):
    return x.softmax(1)

def f(x, y):
    net = Net()
    F.cross_entropy(net(x, soft=True), y)  # <- 301
    F.cross_entropy(net(x), y)
    F.cross_entropy(net(x, True), y)  # <- 301
    F.cross_entropy(net(x, head=hard), y)
    F.cross_entropy(net(x, head=soft), y)  # <- 301
"""
INLINED["forward_by_input"] = """
class Net(nn.Module):
    def forward(self, x):
        return x

def f(x, y):
    net = Net()
    F.cross_entropy(net(x.softmax(1)), y)  # <- 301
    F.cross_entropy(net(x + 1), y)
    F.cross_entropy(net([x.softmax(1), x])[0], y)  # <- 301
    F.cross_entropy(net([x, x.softmax(1)])[0], y)
"""

QUIET = {
    "recursion": """
def down(x, n):
    if n == 0:
        return x.softmax(1)
    return down(x, n - 1)

def f(x, y):
    return F.cross_entropy(down(x, 3), y)
""",
    "mutual_recursion": """
def ping(x):
    return pong(x)

def pong(x):
    return ping(x)

def f(x, y):
    return F.cross_entropy(ping(x.softmax(1)), y)
""",
    "abstract": """
class Base:
    def out(self, x):
        raise NotImplementedError

    def loss(self, x, y):
        out = self.out(x)
        return F.cross_entropy(out, y)
""",
    "decorated_by_what_cannot_be_seen": """
@swap_for_another
def probs(x):
    return x.softmax(1)

@torch.jit.script
def probs_too(x):
    return x

def f(x, y):
    return F.cross_entropy(probs_too(x), y)
""",
    "unknown_function": """
def f(x, y):
    return F.cross_entropy(elsewhere(x.softmax(1)), y)
""",
    "shadowed": """
def probs(x):
    return x.softmax(1)

def f(x, y, probs):
    return F.cross_entropy(probs(x), y)
""",
    "called_wrongly": """
def none():
    return None

def f(x, y):
    F.cross_entropy(none()(x), y)
    F.cross_entropy(x[0](x), y)
    F.cross_entropy("a".join(x)(x), y)
    none(x, y, *x, **y)
    list()
    next()
    iter()
    sum()
    filter(x)
    map(x)
    enumerate()
    getattr(x)
    setattr(x, y)
    super()
    zip()
""",
}


@table(INLINED)
def test_calls_are_inlined(code):
    holds(code)


@table(QUIET)
def test_what_cannot_be_seen_is_not_told(code):
    holds(code)


STEPS = {
    "function": """
def clear(optimizer):
    optimizer.zero_grad()

for x in data:
    clear(optimizer)
    net(x).sum().backward()
    optimizer.step()
""",
    "two_deep": """
def clear(optimizer):
    really(optimizer)

def really(optimizer):
    optimizer.zero_grad()

for x in data:
    clear(optimizer)
    net(x).sum().backward()
    optimizer.step()
""",
    "bound_method": """
clear = optimizer.zero_grad
for x in data:
    clear()
    net(x).sum().backward()
    optimizer.step()
""",
    "callback": """
def each(work):
    for x in data:
        work(x)

def train(x):
    net(x).sum().backward()  # <- 101
    optimizer.step()

each(train)
""",
    "closure_of_the_step": """
for x in data:
    def closure():
        optimizer.zero_grad()
        loss = net(x).sum()
        loss.backward()
        return loss
    optimizer.step(closure)
""",
    "object": """
class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def fit(self, data):
        for x in data:
            self.one(x)

    def one(self, x):
        self.net(x).sum().backward()  # <- 101
        self.optimizer.step()

Trainer(net, optimizer).fit(data)
""",
    "base_class_clears": """
class Base:
    def clear(self):
        self.optimizer.zero_grad()

class Trainer(Base):
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def fit(self, data):
        for x in data:
            self.clear()
            self.net(x).sum().backward()
            self.optimizer.step()

Trainer(net, optimizer).fit(data)
""",
}


@table(STEPS)
def test_events_of_what_is_called_count(code):
    holds("net = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n" + code)


def test_an_event_knows_the_calls_it_came_through():
    code = "def outer(net: nn.Module):\n    inner(net)\n\ndef inner(net):\n    net.eval()\n"
    (run,) = (run for run in runs(code) if run.root is not None)
    (event,) = events(run, "module.eval")
    assert [site.location().row for site in event.calls] == [5]
    assert event.site.location().row == 8


def test_a_function_that_is_called_is_no_root_of_its_own():
    code = "def inner(x):\n    return x\n\ndef outer(x):\n    return inner(x)\n"
    assert [run.root.name for run in runs(code) if run.root is not None] == ["outer"]


def test_values_tell_what_they_are():
    code = """
class Head:
    pass

def f(x):
    return x

names = [Head, f, Head(), x.parameters(), torch.zeros(1), [1], 1, torch.nn.Linear, unknown]
"""
    body = runs(code)[0]
    (names,) = (value for (_, name), value in body.store.data.items() if name == "names")
    items = body.items_of(names)
    assert [type(item) for item in items[:3]] == [Class, Func, Instance]
    assert [repr(item) for item in items] == [
        "Class(Head)", "Func(f)", "Instance(Head)", repr(items[3]), repr(items[4]), repr(items[5]), "Const(1)",
        "Ref(torch.nn.Linear)", "Opaque(unknown, global)",
    ]  # fmt: skip
    assert isinstance(items[4], Tensor) and isinstance(items[5], Seq) and isinstance(items[6], Const)
    assert isinstance(items[3], (Iter, Opaque))


def test_asking_for_a_part_puts_no_part_in_its_place():
    """A forward that asks `if self.pool is not None` would have to be run again for each call otherwise."""
    code = """
class Net(nn.Module):
    def __init__(self, pooled):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.pool = nn.AvgPool1d(2) if pooled else None
        self.head = nn.Linear(4, 2) if pooled else nn.Conv1d(4, 2, 1)

    def forward(self, x):
        x = self.layer(x)
        if self.pool is not None:
            x = self.pool(x)
        return self.head(x) if isinstance(self.head, nn.Linear) else self.head(x[..., None])

def f(x, y, pooled):
    net = Net(pooled)
    return net(x), net(x + 1), net(y)
"""
    assert [run.replaced for run in runs(code)] == [0] * len(runs(code)) != []
    changes = [event.name for run in runs(code) for event in run.graph.events if event.kind == "setattr"]
    assert set(changes) == {"layer", "pool", "head"} and len(changes) % 3 == 0
