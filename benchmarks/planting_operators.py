"""The operators of planting.py: each makes one mistake of one number in a text, by a rule of syntax, wherever it finds a place."""

import ast
import re


class Source:
    """A text, its tree, and edits of it."""

    def __init__(self, text):
        self.raw = text.encode()
        self.text = text
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.raw.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.parent = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def get(self, node):
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def put(self, *edits):
        """The text with (start, end, new) in it."""
        raw = self.raw
        for start, end, new in sorted(edits, reverse=True):
            raw = raw[:start] + new.encode() + raw[end:]
        return raw.decode()

    def instead(self, node, new):
        return (*self.span(node), new)

    def above(self, node, line):
        """`line` as a statement of its own above this one."""
        start = self.starts[node.lineno - 1]
        return start, start, f"{' ' * node.col_offset}{line}\n"

    def below(self, node, line):
        start = self.starts[node.end_lineno]
        return start, start, f"{' ' * node.col_offset}{line}\n"

    def all(self, *kinds, inside=None):
        return [node for node in ast.walk(inside or self.tree) if isinstance(node, kinds)]

    def around(self, node):
        while (node := self.parent.get(node)) is not None:
            yield node

    def blocks(self):
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield block

    def statements(self, pattern):
        """Expression statements whose whole text is this."""
        return [node for node in self.all(ast.Expr) if re.fullmatch(pattern, self.get(node), re.S)]

    def without(self, *nodes):
        return self.put(*(self.instead(node, "pass") for node in nodes))


def last(text):
    """The last name of a dotted one: what `self.model` and `model` share."""
    return text.rsplit(".", 1)[-1]


NAME = r"[\w.\[\]'\"]+"


def steps(source):
    """(block, backward, step, zero_grad or None) where a block has one of each."""
    if source.text.count(".backward(") != 1:
        return
    for block in source.blocks():
        text = [source.get(node) if isinstance(node, ast.Expr) else "" for node in block]
        backward = [i for i, line in enumerate(text) if re.fullmatch(NAME + r"\.backward\(.*\)", line, re.S)]
        step = [i for i, line in enumerate(text) if re.fullmatch(r"(?=.*opt)" + NAME + r"\.step\(\)", line, re.I)]
        zero = [i for i, line in enumerate(text) if re.fullmatch(NAME + r"\.zero_grad\(.*\)", line)]
        if len(backward) == len(step) == 1 and len(zero) < 2 and backward[0] < step[0]:
            yield block, block[backward[0]], block[step[0]], block[zero[0]] if zero else None


def zero_grad_deleted(source):
    return [source.without(zero) for _, _, _, zero in steps(source) if zero and source.text.count("zero_grad(") == 1]


def zero_grad_before_step(source):
    return [source.put(source.instead(zero, "pass"), source.above(step, source.get(zero)))
            for _, backward, step, zero in steps(source) if zero and zero.lineno < backward.lineno]


def backward_deleted(source):
    return [source.without(backward) for _, backward, _, _ in steps(source)]


def step_deleted(source):
    return [source.without(step) for _, _, step, _ in steps(source)]


SCHEDULER = r"[\w.]*(scheduler|lr_sched|lr_scheduler)\w*\.step\("


def scheduler_deleted(source):
    found = source.statements(SCHEDULER + r".*\)")
    built = re.search(r"lr_scheduler\.\w+\(|\b(StepLR|MultiStepLR|ExponentialLR|LambdaLR|CosineAnnealingLR|ReduceLROnPlateau)\(", source.text)
    return [source.without(found[0])] if built and len(found) == 1 and "Trainer(" not in source.text else []


def scheduler_each_batch(source):
    """A cosine over epochs, stepped behind the optimizer's step."""
    if not re.search(r"CosineAnnealingLR\([^)]*epoch", source.text):
        return []
    return [source.put(source.instead(call, "pass"), source.below(step, source.get(call)))
            for call in source.statements(SCHEDULER + r"\)") for _, backward, step, _ in steps(source)
            for loop in source.around(call) if isinstance(loop, ast.For) and call in loop.body and loop in source.around(backward)
            and backward not in loop.body]


def modes(source, method):
    """Statements `x.train()` or `x.eval()` whose x has the other one, too, where the file trains."""
    if ".backward(" not in source.text or "epoch" not in source.text:
        return []
    other = "eval" if method == "train" else "train"
    return [node for node in source.statements(r"[\w.]+\." + method + r"\(\)")
            if re.search(r"\b" + last(source.get(node)[:-len(method) - 3]) + r"\." + other + r"\(", source.text)]


LAYERS = re.compile(r"Dropout|dropout|BatchNorm|resnet|densenet|vgg|efficientnet|from_pretrained")


def train_deleted(source):
    """Not where the whole model can be seen to have one mode only; where it stands elsewhere, that is not known."""
    found = modes(source, "train")
    one_mode = "nn.Module)" in source.text and not LAYERS.search(source.text)
    return [source.without(found[0])] if len(found) == 1 and len(modes(source, "eval")) == 1 and not one_mode else []


def eval_deleted(source):
    found = modes(source, "eval")
    return [source.without(found[0])] if len(found) == 1 and LAYERS.search(source.text) else []


def is_no_grad(source, node):
    return re.fullmatch(r"(torch\.)?no_grad\(\)", source.get(node))


def evaluates(source, node):
    """Does what stands in there go over data and train nothing? What is made an array as it is would raise: another mistake."""
    text = source.get(node)
    loops = [loop for loop in [*source.all(ast.For, inside=node), *source.around(node)] if isinstance(loop, ast.For)]
    if "numpy()" in text and "detach()" not in text:
        return False
    return "backward(" not in text and any(re.search("load|iter|batch|data", source.get(loop.iter)) for loop in loops)


def no_grad_deleted(source):
    if source.text.count("no_grad(") != 1 or ".eval()" not in source.text or "requires_grad" in source.text:
        return []
    ways = []
    for node in source.all(ast.With):
        if len(node.items) == 1 and is_no_grad(source, node.items[0].context_expr) and evaluates(source, node):
            first, end = node.body[0].lineno - 1, node.end_lineno
            lines = source.text.split("\n")
            deep = node.body[0].col_offset - node.col_offset
            block = [line[deep:] if not line[:deep].strip() else line for line in lines[first:end]]
            ways.append("\n".join(lines[:node.lineno - 1] + block + lines[end:]))
    for node in source.all(ast.FunctionDef):
        for mark in node.decorator_list:
            if is_no_grad(source, mark) and evaluates(source, node):
                lines = source.text.split("\n")
                ways.append("\n".join(lines[:mark.lineno - 1] + lines[mark.end_lineno:]))
    return ways


def inference_mode(source):
    """What a teacher or a frozen part says under no_grad becomes an inference tensor, and the loss is made with it."""
    ways = []
    for node in source.all(ast.With):
        if len(node.items) != 1 or not is_no_grad(source, node.items[0].context_expr):
            continue
        made = {name.id for each in node.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
                for target in each.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        block = getattr(source.parent[node], "body", [])
        after = "\n".join(source.get(each) for each in block if each.lineno > node.lineno)
        until = after.split(".backward(")
        if len(until) > 1 and any(re.search(r"(loss|criterion)\w*\([^\n]*\b" + name + r"\b", until[0]) for name in made):
            ways.append(source.put(source.instead(node.items[0].context_expr, "torch.inference_mode()")))
    return ways


def inits(source):
    """(the call of super's __init__, the last statement of the __init__) of modules that give themselves layers"""
    for node in source.all(ast.ClassDef):
        if any(source.get(base) in ("nn.Module", "torch.nn.Module") for base in node.bases) and len(node.bases) == 1:
            for init in node.body:
                if isinstance(init, ast.FunctionDef) and init.name == "__init__" and re.search(r"self\.\w+ = nn\.[A-Z]", source.get(init)):
                    for each in init.body:
                        if isinstance(each, ast.Expr) and re.fullmatch(r"super\(.*\)\.__init__\(\)", source.get(each)):
                            yield each, init.body[-1]


def super_deleted(source):
    return [source.without(call) for call, _ in inits(source)]


def super_last(source):
    return [source.put(source.instead(call, "pass"), source.below(end, source.get(call))) for call, end in inits(source) if end is not call]


def unscale_deleted(source):
    found = source.statements(r"[\w.]*scaler\.unscale_\(.*\)")
    return [source.without(found[0])] if len(found) == 1 and "clip_grad" in source.text else []


def update_deleted(source):
    found = source.statements(r"[\w.]*scaler\.update\(\)")
    return [source.without(found[0])] if len(found) == 1 else []


def set_epoch_deleted(source):
    found = source.statements(r"[\w.]*sampler\w*\.set_epoch\(.*\)")
    if len(found) != 1 or "DistributedSampler(" not in source.text:
        return []
    loops = [node for node in source.around(found[0]) if isinstance(node, ast.For)]
    return [source.without(found[0])] if loops else []


def deepcopy_deleted(source):
    """Where the state of a round is kept; the one from before the first round is written over."""
    return [source.put(source.instead(call, source.get(call.args[0]))) for call in source.all(ast.Call)
            if re.fullmatch(r"(copy\.)?deepcopy\([\w.]+\.state_dict\(\)\)", source.get(call))
            and ".backward(" in source.text and any(isinstance(node, (ast.For, ast.While)) for node in source.around(call))]


def optimizer_not_saved(source):
    """Neither written into the checkpoint nor read from it."""
    loads = source.statements(r"[\w.]*opt\w*\.load_state_dict\(.*\)")
    items = [(table, key, value) for table in source.all(ast.Dict) for key, value in zip(table.keys, table.values)
             if key and re.fullmatch(r"[\w.]*opt\w*\.state_dict\(\)", source.get(value))]
    if len(loads) != 1 or len(items) != 1 or not source.statements(r"[\w.]*(model|net)\w*(\.module)?\.load_state_dict\(.*\)"):
        return []
    _, key, value = items[0]
    start, end = source.span(key)[0], source.span(value)[1]
    rest = re.match(rb"\s*,", source.raw[end:])
    return [source.put((start, end + (rest.end() if rest else 0), ""), source.instead(loads[0], "pass"))]


OPERATORS = {
    "101-zero-grad-deleted": (101, zero_grad_deleted),
    "102-zero-grad-before-step": (102, zero_grad_before_step),
    "103-backward-deleted": (103, backward_deleted),
    "103-step-deleted": (103, step_deleted),
    "110-scheduler-step-deleted": (110, scheduler_deleted),
    "111-scheduler-each-batch": (111, scheduler_each_batch),
    "201-eval-deleted": (201, eval_deleted),
    "202-no-grad-deleted": (202, no_grad_deleted),
    "203-train-deleted": (203, train_deleted),
    "205-inference-mode": (205, inference_mode),
    "503-super-deleted": (503, super_deleted),
    "503-super-last": (503, super_last),
    "703-unscale-deleted": (703, unscale_deleted),
    "704-update-deleted": (704, update_deleted),
    "801-set-epoch-deleted": (801, set_epoch_deleted),
    "904-deepcopy-deleted": (904, deepcopy_deleted),
    "905-optimizer-not-saved": (905, optimizer_not_saved),
}
