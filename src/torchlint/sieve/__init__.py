"""What in a file can matter: one parse by the C parser and one flat walk over its tree.

The walk finds imports, functions, classes, and the stretches of text that libcst will be asked to parse on their own, the units
(a function, a method, a run of top-level statements). Each unit keeps the words in it (not those of annotations), and marks
for shapes of statements and for what is written where: `!discarded`, `!container` (an attribute is given a list that may hold
layers), `!kept` (or a tensor made there), `!leafwrite` (what may be a leaf is changed in place).

`rules/needs.py` says for each rule which words must be there before it can have anything to say; `dryrun/roots.py` follows the words
through the functions that a unit names, and takes statements outside functions together with those that set what they
mention. What meets no need is not run. Of functions that do nothing themselves that matters and mention the same of the
project (the 50 that build one model in 50 sizes), one is run. Marks of statements that a rule shows (`!state`, `!loading`)
count in the file that they stand in, not in those that call it: the models of a zoo are not all built because their common
loader loads weights.

The sieve may let too much through, never too little: a test judges everything with and without it, all rules and each alone.
Two rules are narrower on purpose: 508 asks for layers whose sizes are written where they are made (numbers, arithmetic,
CONSTANTS), or else it would have every model of every file parsed; 417 for a `Linear` or a backward near by.
"""

from __future__ import annotations

import ast
import builtins
import re

from torchlint.catalogue.apis import everywhere
from torchlint.catalogue.effects import (
    CREATES,
    INPLACE,
    LAYERS,
    MISSPELT,
    PURE_IF_TENSOR,
    PURE_TENSOR_ONLY,
    SIZED,
)
from torchlint.catalogue.vocabulary import OF_EVERY_MODULE
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit, units_of

# A file that has none of these words cannot make a torch event.
MARKS = (b"torch", b"lightning", b"accelerate", b"transformers", b"timm", b"ignite", b"fastai", b"deepspeed")


PYTHON = frozenset(dir(builtins))
# What is called by such a name gives something, or is given something to do, and is no model.
_NO_MODELS = ("fn", "func", "function", "cls", "class", "type", "factory", "callback", "hook")
_MODELS = re.compile(
    "model|net|module|coder|generator|discriminator|critic|actor|policy|bone|head|classifier|student|teacher|ema|forward", re.I
)


def may_matter(text: str) -> bool:
    """Whether the text names torch, or a library on top of it, at all."""
    data = text.encode("utf-8", "surrogatepass")
    return any(mark in data for mark in MARKS)


def read_facts(path: str, text: str) -> FileFacts:
    """The facts of one file.

    Raises:
        SyntaxError: the text does not parse (also for null bytes and for nesting past what the parser takes).
    """
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too deeply nested") from None
    facts = FileFacts(path, split_lines(text))
    everything: set[str] = set()
    run: list[ast.stmt] = []

    def flush() -> None:
        if run:
            unit = _unit("<module>", run[0], run[-1], run, indent=False)
            everything.update(unit.words)
            facts.body.append(unit)
            run.clear()

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            flush()
            unit = _function(node, indent=False)
            _note_again(facts, node.name, unit)
            facts.functions[node.name] = unit
            facts.body.append(node.name)
            everything.update(unit.words)
        elif isinstance(node, ast.ClassDef):
            flush()
            cls = _class(node, everything)
            _note_again(facts, node.name, cls)
            facts.classes[node.name] = cls
            facts.body.append(node.name)
        else:
            if run and not (_simple(node) and _simple(run[-1])):
                flush()
            run.append(node)
    flush()
    for node in tree.body:
        _imports(node, facts)
        _conditional_classes(node, facts)
    facts.words = frozenset(everything)
    _mark_models(facts)
    return facts


def _mark_models(facts: FileFacts) -> None:
    """Marks the units that call what may be a model: something that is neither defined nor imported here."""
    known = facts.functions.keys() | facts.classes.keys() | facts.imports.keys() | PYTHON
    again = (unit for units in facts.again.values() for unit in units if isinstance(unit, Unit))
    for unit in (*units_of(facts), *again):
        if not unit.calls <= known:
            unit.words |= {"!calls"}


def _note_again(facts: FileFacts, name: str, new: Unit | ClassFacts) -> None:
    """Notes that a name is defined a second time: until then it stands for something else."""
    old = facts.functions.get(name) or facts.classes.get(name)
    if old is not None:
        facts.again.setdefault(name, [old]).append(new)


def split_lines(text: str) -> list[str]:
    """The text's lines with their ends, broken where Python's own parser breaks them (not at form feeds)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines]


def _simple(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign))


def _conditional_classes(node: ast.stmt, facts: FileFacts) -> None:
    """Notes the classes that are defined under a condition, where that is the only thing their name stands for."""
    found: dict[str, list[ast.ClassDef]] = {}
    todo: list[ast.AST] = [node] if isinstance(node, (ast.If, ast.Try, ast.With)) else []
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if isinstance(child, ast.ClassDef):
                found.setdefault(child.name, []).append(child)
            elif isinstance(child, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                todo.append(child)
    for name, (cls, *others) in found.items():
        if not others and name not in facts.imports and name not in facts.functions and name not in facts.classes:
            facts.classes[name] = _class(cls, set())


def _imports(node: ast.stmt, facts: FileFacts) -> None:
    """Notes what a statement, or one in its branches, imports: the last one counts, if there is such a thing."""
    todo: list[ast.AST] = [node]
    outer = node
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                facts.imports[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    facts.stars.append(base)
                else:
                    qualified = f"{base}.{alias.name}" if base.strip(".") else base + alias.name
                    name = alias.asname or alias.name
                    if node is not outer and name in facts.imports:
                        facts.instead.setdefault(name, []).append(facts.imports[name])
                    facts.imports[name] = qualified
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
            children = list(ast.iter_child_nodes(node))
            todo.extend(child for child in reversed(children) if isinstance(child, (ast.stmt, ast.ExceptHandler)))


def _start(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    return min([node.lineno, *(d.lineno for d in decorators)]) if decorators else node.lineno


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):
        return _dotted(node.func) + "()" + "".join("." + part for part in reversed(parts))
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: bool) -> Unit:
    unit = _unit(node.name, node, node, [node], indent)
    args = node.args
    unit.params = tuple(arg.arg for arg in (*args.posonlyargs, *args.args))
    unit.is_async = isinstance(node, ast.AsyncFunctionDef)
    unit.decorators = tuple(_dotted(d) for d in node.decorator_list)
    if node.name == "forward" and type(node.body[-1]) not in (ast.Return, ast.Raise):
        unit.words |= {"!falls"}
    return unit


def _unit(name: str, first: ast.stmt, last: ast.stmt, nodes: list, indent: bool) -> Unit:
    words: set[str] = set()
    sets: set[str] = set()
    binds: set[str] = set()
    calls: set[str] = set()
    gives: dict[str, frozenset[str]] = {}
    rearranged: list[ast.Call] = []
    assigns: list[ast.Assign | ast.AnnAssign] = []
    todo = list(nodes)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is ast.Attribute:
            if node.attr != "Tensor":
                words.add(node.attr)
            if type(node.ctx) is not ast.Load:
                words.add("!setattr")
                if node.attr in OF_EVERY_MODULE:
                    words.add("!replaced")
                if node.attr[:5] == "requi":
                    words.add("!flag")
                if type(node.value) is ast.Name and node.value.id == "self":
                    sets.add(node.attr)
                if "best" in node.attr:
                    words.add("!best")
            elif node.attr == "state_dict":
                words.add("!state")
            todo.append(node.value)
            continue
        if kind is ast.Name:
            if node.id not in _TYPES:
                words.add(node.id)
            if type(node.ctx) is not ast.Load:
                binds.add(node.id)
                if "best" in node.id.lower():
                    words.add("!best")
            continue
        if kind is ast.Constant:
            if type(node.value) is str and (node.value == "--local_rank" or "torch.distributed.launch" in node.value):
                words.add("!launch")
            continue
        if kind in _DEFINITIONS:
            binds.add(node.name)  # under a condition: `try: import x; def f ... except ImportError: def f ...`
        mark = _MARKS.get(kind)
        if mark is not None:
            mark(node, words)
        if kind is ast.Call and node.args:
            called = _model(node.func)
            if called is not None:
                calls.add(called)
            if len(node.args) > 1 and getattr(node.func, "attr", "") in ("view", "reshape"):
                rearranged.append(node)
        if kind is ast.For:
            assigns.append(node)
        elif kind is ast.Assign or kind is ast.AnnAssign:
            value = node.value
            if type(value) is ast.Call and getattr(value.func, "attr", "") == "load_state_dict":
                words |= {"!loaded", "!loading"}
            assigns.append(node)
            if kind is ast.Assign and type(value) is not ast.Name and type(value) is not ast.Constant:
                _worth(node, gives, name[0] == "<")
        for field in node._fields:
            if field == "annotation" or field == "returns":
                continue  # says what is meant, and does nothing
            value = getattr(node, field, None)
            if type(value) is list:
                todo.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                todo.append(value)
    if rearranged and not words.isdisjoint(_SOURCES) and _arranges(nodes, rearranged):
        words.add("!arranged")
    _containers(assigns, words)
    _tensors(assigns, words, name == "forward")
    return Unit(
        name, _start(first), last.end_lineno, indent, (), frozenset(words), frozenset(sets), frozenset(binds),
        frozenset(calls), gives
    )


def _model(func: ast.expr) -> str | None:
    """The name of what is called, where that may be a model; "" where it is one of no name or of another object."""
    kind = type(func)
    if kind is ast.Name:
        name = func.id
        return None if name[0].isupper() or name.endswith(_NO_MODELS) else name
    if kind is ast.Attribute:
        of_self = type(func.value) is ast.Name and func.value.id == "self"
        return "" if of_self or _MODELS.search(func.attr) else None
    return ""


def _arranges(nodes: list[ast.stmt], calls: list[ast.Call]) -> bool:
    """Whether some x.view(...) may be given sizes of x in another order: names in another order than they were unpacked
    in, x.size(1) before x.size(0), numbers."""
    unpacked = [
        [getattr(name, "id", "") for name in target.elts]
        for statement in nodes for node in ast.walk(statement) if type(node) is ast.Assign
        for target in node.targets if type(target) is ast.Tuple
    ]
    for call in calls:
        names, numbers, rest = [], [], False
        for arg in call.args:
            for part in ast.walk(arg):
                if type(part) is ast.Name:
                    names.append(part.id)
                    if rest and any(part.id in given for given in unpacked):
                        return True
                elif type(part) is ast.Constant and type(part.value) is int:
                    numbers.append(part.value)
            rest = rest or type(arg) is ast.UnaryOp  # -1: what is left over
        if numbers != sorted(numbers) or any(_out_of_order(names, given) for given in unpacked):
            return True
    return False


def _out_of_order(names: list[str], unpacked: list[str]) -> bool:
    places = [unpacked.index(name) for name in names if name in unpacked]
    return places != sorted(places)


def _worth(node: ast.Assign, gives: dict[str, frozenset[str]], outside: bool) -> None:
    """Notes which classes and functions the value of `self.x` (or of a name outside functions) is made of: where
    it is used, it counts as if they were named there."""
    for target in node.targets:
        if type(target) is ast.Attribute and type(target.value) is ast.Name and target.value.id == "self":
            key = target.attr
        elif outside and type(target) is ast.Name:
            key = target.id
        else:
            continue
        found = set()
        for part in ast.walk(node.value):
            if type(part) is ast.Attribute:
                found.add(part.attr)
            elif type(part) is ast.Name:
                found.add(part.id)
            elif type(part) is ast.Call and _sized(part):
                found.add("!sized")
        bare = type(node.value) is ast.Attribute  # a function, by its name
        gives[key] = gives.get(key, frozenset()) | {word for word in found if bare or word[:1].isupper() or word[0] == "!"}


# -- marks: shapes of statements that some rule asks for, see rules/needs.py ----------------------------------------------


def _mark_import(node, words: set[str]) -> None:
    words.update(alias.name for alias in node.names)
    module = getattr(node, "module", None) or ""
    if module[:6] == "torch.":
        words.add(f"!from {module}")


def _mark_expr(node: ast.Expr, words: set[str]) -> None:
    value = node.value
    if type(value) is ast.Attribute:
        words.add("!bare")
    elif type(value) is ast.Call:
        name = _last(value.func)
        if name in _CONTEXTS:
            words.add("!dropped")
        elif type(value.func) is ast.Attribute and name in _PURE:
            words.add("!discarded")
        elif name == "load_state_dict" and any(type(item) is ast.Constant and item.value is False for item in _given(value)):
            words.add("!loose")


def _given(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by place or by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _mark_with(node: ast.With, words: set[str]) -> None:
    if any(type(item.context_expr) in (ast.Attribute, ast.Name) for item in node.items):
        words.add("!bare")


def _mark_product(node: ast.BinOp, words: set[str]) -> None:
    if type(node.op) is ast.Mult and type(node.left) is ast.List:
        words.add("!repeat")


def _mark_list(node: ast.ListComp, words: set[str]) -> None:
    if type(node.elt) is ast.Name:
        words.add("!repeat")


def _mark_augmented(node: ast.AugAssign, words: set[str]) -> None:
    if type(node.value) is ast.Constant and type(node.value.value) is int:
        return  # counts
    target = node.target.value if type(node.target) is ast.Subscript else node.target
    _written(target, words)
    if _of_self(target):
        words.add(f"!grows {target.attr}")


def _written(target: ast.expr, words: set[str]) -> None:
    """Marks what something is written to in place: a name, an attribute, what a call gave."""
    words.add("!inplace")
    while type(target) is ast.Subscript:
        target = target.value
    if type(target) is ast.Name:
        words.add(f"!into {target.id}")
    elif type(target) is ast.Call:
        words.add(f"!onto {_last(target.func)}")
    elif type(target) is not ast.Attribute or target.attr not in ("data", "grad"):
        words.add("!leafwrite")


def _of_self(node: ast.expr) -> bool:
    """Whether a node is `self.x`."""
    return type(node) is ast.Attribute and getattr(node.value, "id", "") == "self"


def _last(func: ast.expr) -> str:
    """The last part of the name of what is called."""
    return getattr(func, "attr", None) or getattr(func, "id", "")


def _mark_call(node: ast.Call, words: set[str]) -> None:
    if type(node.func) is ast.Attribute:
        name, owner = node.func.attr, node.func.value
        if name in INPLACE:
            _written(owner, words)
        elif name == "Tensor":
            words.add(name)
        elif name in _GROWING and _of_self(owner):
            words.add(f"!grows {owner.attr}")
    elif type(node.func) is ast.Name:
        if node.func.id == "setattr":
            words.add("!setattr")
        elif node.func.id == "Tensor":
            words.add("Tensor")
    if _last(node.func) == "tensor" and node.args and type(node.args[0]) in _COPIED:
        words.add("!copied")
    if _sized(node):
        words.add("!sized")
    for argument in node.args[:2]:
        if type(argument) is ast.Constant and type(argument.value) is str and "->" in argument.value:
            words.add("!pattern")
    if type(node.func) is ast.Attribute and node.func.attr == "mean":
        words.add("!sequence")
    if node.keywords:
        given = [keyword.arg for keyword in node.keywords]
        if "requires_grad" in given:
            words.add("!leaf")
        if _unknown_keyword(node.func, given):
            words.add("!keyword")


def _unknown_keyword(func: ast.expr, given: list[str | None]) -> bool:
    """Whether something of torch that is called so does not take one of the keywords."""
    name = _last(func)
    takes = everywhere().get(name)
    if takes is None or getattr(getattr(func, "value", None), "id", "") in _OTHERS:
        return False
    return any(word is not None and word not in takes for word in given)


def _sized(node: ast.Call) -> bool:
    """Whether a layer is made for an input of a size that is written there: a number, arithmetic, or a CONSTANT."""
    if _last(node.func) not in SIZED:
        return False
    given = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg in _SIZE_WORDS), None)
    return type(given) in (ast.Constant, ast.BinOp, ast.Tuple, ast.List) or type(given) is ast.Name and given.id.isupper()


def _mark_compare(node: ast.Compare, words: set[str]) -> None:
    for side in (node.left, *node.comparators):
        if getattr(side, "attr", getattr(side, "id", "")) in ("nan", "NaN", "NAN"):
            words.add("!nan")
        elif type(side) is ast.Call and getattr(side.func, "id", "") == "float" and side.args and type(side.args[0]) is ast.Constant:
            words.add("!nan")


def _mark_subscript(node: ast.Subscript, words: set[str]) -> None:
    if type(node.slice) is ast.Tuple and [type(key) for key in node.slice.elts[:2]] == [ast.Slice, ast.UnaryOp]:
        words.add("!sequence")  # x[:, -1]
    if type(node.ctx) is ast.Store:
        if not (type(node.slice) is ast.Constant and type(node.slice.value) is str):
            _written(node.value, words)
        if _of_self(node.value):
            words.add(f"!grows {node.value.attr}")


def _bindings(assigns: list[ast.Assign | ast.AnnAssign | ast.For]) -> list[tuple[ast.expr, ast.expr]]:
    """Targets and what each of them is given; of a loop, what it goes over."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in assigns:
        value = node.iter if type(node) is ast.For else node.value
        for target in node.targets if type(node) is ast.Assign else [node.target]:
            if value is not None:
                found.append((target, value))
    return found


def _tensors(assigns: list, words: set[str], forward: bool) -> None:
    """Marks attributes that are given a tensor made there, or a leaf, and what is written to in place that may be a leaf or
    the result of a function."""
    into = {word[6:] for word in words if word[:6] == "!into "}
    made, leaves = not CREATES.isdisjoint(words), not _LEAVES.isdisjoint(words)
    if not (into or made or leaves or "!setattr" in words):
        return
    pairs = _bindings(assigns)
    tensors: set[str] = set()
    leafs: set[str] = set()
    bound: dict[str, list[ast.expr]] = {}
    for target, value in pairs:
        for name in [target] if type(target) is ast.Name else target.elts if type(target) is ast.Tuple else ():
            if type(name) is ast.Name:
                bound.setdefault(name.id, []).append(value)
    if made or leaves:
        for _ in range(2):
            for name, values in bound.items():
                for value in values:
                    _made_of(value, name, tensors, leafs)
    for target, value in pairs:
        if type(target) is not ast.Attribute:
            continue
        if type(value) is ast.Call and _last(value.func)[:1].islower() and _last(value.func) not in PYTHON:
            words.add("!kept?")
        if made or leaves:
            found: tuple[set[str], set[str]] = (set(), set())
            _made_of(value, "", tensors, leafs, found)
            if found[0]:
                words.add("!kept")
            if found[1]:
                words.add("!leafkept")
    todo, seen = list(into), set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        values = bound.get(name)
        if values is None:
            if not forward:
                words.add("!leafwrite")  # an argument, or a global
            continue
        for value in values:
            if type(value) is ast.Call:
                words.add(f"!onto {_last(value.func)}")
            elif type(value) is ast.Name:
                todo.append(value.id)
        if name in leafs or any(type(value) in (ast.Attribute, ast.Subscript) for value in values) or any(
            type(part) is ast.Attribute and part.attr in ("parameters", "named_parameters") for value in values for part in ast.walk(value)
        ):
            words.add("!leafwrite")


def _made_of(value: ast.expr, name: str, tensors: set[str], leafs: set[str], found: tuple[set[str], set[str]] | None = None) -> None:
    """Adds a name to those of tensors made here, and to those of leaves, if its value is such or computed from one."""
    mine, own = found or (tensors, leafs)
    todo = [(value, True)]
    while todo:
        item, top = todo.pop()
        kind = type(item)
        if kind is ast.Lambda:
            continue
        if kind is ast.Name:
            if item.id in tensors:
                mine.add(name)
            if item.id in leafs:
                own.add(name)
        elif kind is ast.Call:
            last = _last(item.func)
            if last == "Parameter":
                if not top or found is None:
                    own.add(name)
                continue
            if last in CREATES or last == "requires_grad_" or last == "Variable":
                mine.add(name)
            if last in ("requires_grad_", "Variable") or any(word.arg == "requires_grad" for word in item.keywords):
                own.add(name)
        todo.extend((child, False) for child in ast.iter_child_nodes(item))


def _containers(assigns: list, words: set[str]) -> None:
    """Marks what attributes are given that may be a list of layers, and the empty lists that may become one."""
    pairs = [pair for node in assigns if type(node) is not ast.For for pair in _bindings([node])]
    kept = [(target.attr, value) for target, value in pairs if type(target) is ast.Attribute and type(value) in _MAY_HOLD]
    if not kept:
        return
    names = [(target.id, value) for target, value in pairs if type(target) is ast.Name]
    made = {name for name, value in names if type(value) is ast.Call and getattr(value.func, "id", "") not in PYTHON}
    lists: set[str] = set()
    for _ in range(2):  # a list may be a part of one that stands above it
        lists.update(name for name, value in names if _held(value, made, lists))
    for name, value in kept:
        held = _held(value, made, lists)
        if held:
            words.add("!container" if held == "layers" else f"!empty {name}")


def _held(value: ast.expr | None, made: set[str], lists: set[str]) -> str:
    """What a list or dict may keep out of a module's sight: "layers"; "nothing" yet; "" for what is no such thing.
    `made` are names for what calls gave, `lists` those for such lists."""
    kind = type(value)
    if kind in (ast.List, ast.Tuple, ast.Set):
        items = value.elts
    elif kind is ast.Dict:
        items = value.values
    elif kind in (ast.ListComp, ast.SetComp, ast.GeneratorExp):
        items = [value.elt]
    elif kind is ast.DictComp:
        items = [value.value]
    elif kind is ast.BinOp or kind is ast.IfExp:
        sides = (value.left, value.right) if kind is ast.BinOp else (value.body, value.orelse)
        held = {_held(side, made, lists) for side in sides}
        return "layers" if "layers" in held else "nothing" if "nothing" in held else ""
    elif kind is ast.Name:
        return "layers" if value.id in lists else ""
    elif kind is ast.Call and getattr(value.func, "id", "") in _LISTS:
        items = [*value.args, *(word.value for word in value.keywords)]
    else:
        return ""
    if not items:
        return "nothing"
    return "layers" if any(_layer(item, made, lists) for item in items) else ""


def _layer(item: ast.expr | None, made: set[str], lists: set[str]) -> bool:
    """Whether an item of a list may be a layer, or a list of layers."""
    kind = type(item)
    if kind is ast.Call and getattr(item.func, "id", "") not in _LISTS:
        return getattr(item.func, "id", "") not in PYTHON
    if kind is ast.Name:
        return item.id in made or item.id in lists
    return kind is ast.Starred or kind is ast.Constant and item.value is None or _held(item, made, lists) == "layers"


_LEAVES = frozenset({"Parameter", "Variable", "requires_grad_", "!leaf"})
_COPIED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.IfExp)
_LISTS = frozenset({"list", "dict", "tuple", "set", "OrderedDict"})
_MAY_HOLD = (
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.BinOp, ast.IfExp, ast.Name,
    ast.Call,
)
_SIZE_WORDS = frozenset({"in_features", "in_channels", "input_size", "num_features", "embed_dim", "normalized_shape", "num_channels"})
_SOURCES = frozenset({"size", "shape", "randn", "rand", "zeros", "ones"})  # of sizes that a view may be given
_OTHERS = frozenset({"np", "numpy", "plt", "pd", "tf", "jnp"})  # nobody calls torch so
_CONTEXTS = frozenset({"no_grad", "inference_mode", "enable_grad", "autocast"})
_PURE = PURE_TENSOR_ONLY | PURE_IF_TENSOR
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_GROWING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_TYPES = frozenset({"int", "float", "bool", "str", "Tensor"})  # of what they are called with, `_mark_call` tells
_MARKS = {
    ast.Import: _mark_import,
    ast.ImportFrom: _mark_import,
    ast.Expr: _mark_expr,
    ast.BinOp: _mark_product,
    ast.ListComp: _mark_list,
    ast.With: _mark_with,
    ast.AugAssign: _mark_augmented,
    ast.Call: _mark_call,
    ast.Compare: _mark_compare,
    ast.Subscript: _mark_subscript,
}


def _late(node: ast.FunctionDef) -> bool:
    """Whether an __init__ does something with self before it calls the __init__ of its base, or never calls that."""
    for statement in node.body:
        parts = list(ast.walk(statement))
        if any(type(part) is ast.Attribute and part.attr == "__init__" for part in parts):
            return False
        if any(type(part) is ast.Name and part.id == "self" for part in parts):
            return True
    return True


def _class(node: ast.ClassDef, everything: set[str]) -> ClassFacts:
    facts = ClassFacts(
        node.name,
        _start(node),
        node.end_lineno,
        node.lineno,
        tuple(_dotted(base) for base in node.bases),
        tuple(keyword.arg or "**" for keyword in node.keywords),
        tuple(_dotted(d) for d in node.decorator_list),
    )
    for item in node.body:
        if item.lineno == node.lineno:  # class A: pass
            continue
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            unit = _function(item, indent=True)
            if any(d.endswith((".setter", ".deleter")) for d in unit.decorators):
                continue
            if item.name == "__init__" and node.bases and _late(item):
                unit.words |= {"!init"}
            elif item.name == "__getitem__":
                unit.words |= {"!item"}
            elif item.name in OF_EVERY_MODULE:
                unit.words |= {"!replaced"}
            elif item.name in MISSPELT:
                unit.words |= {"!misspelt"}
            facts.methods[item.name] = unit
        elif isinstance(item, ast.ClassDef):
            facts.classes[item.name] = _class(item, everything)
            continue
        else:
            unit = _unit("<class>", item, item, [item], indent=True)
            facts.body.append(unit)
        everything.update(unit.words)
    units = [*facts.methods.values(), *facts.body]
    grown = {f"!empty {word[7:]}" for unit in units for word in unit.words if word[:7] == "!grows "}
    for unit in units if grown else ():
        if not grown.isdisjoint(unit.words):
            unit.words |= {"!container"}
    init = facts.methods.get("__init__")
    if init is not None and init.gives:
        used = frozenset().union(*(unit.words for unit in facts.methods.values() if unit is not init))
        if any(name not in used and not LAYERS.isdisjoint(words) for name, words in init.gives.items()):
            init.words |= {"!idle"}
    return facts
