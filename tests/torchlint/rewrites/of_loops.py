"""Other ways to write what runs: nested functions, callbacks, generators, context managers, loops of other kinds."""

from __future__ import annotations

import ast
import copy

from .parts import Change, changed, movable, names_set, parse, split, trains, value


def nested(tree: ast.Module) -> ast.Module | None:
    """All of it in a function in a function."""
    keep, body = split(copy.deepcopy(tree))
    if not movable(keep, body):
        return None
    main = parse("def main():\n    def run():\n        pass\n    run()")[0]
    main.body[0].body = body
    return ast.Module([*keep, main, *parse("main()")], [])


def callbacks(tree: ast.Module) -> ast.Module | None:
    """Steps out of a list of things to call."""

    class Callbacks(Change):
        def visit_Expr(self, node: ast.Expr) -> ast.AST:
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "step" and not call.args and not call.keywords:
                self.hits += 1
                loop = parse("for callback in []:\n    callback()")[0]
                loop.iter.elts = [call.func]
                return loop
            return node

    return changed(Callbacks(), tree)


def over_loops(tree: ast.Module, head: str, call: str) -> ast.Module | None:
    class Over(Change):
        def visit_For(self, node: ast.For) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.iter, ast.Name):
                self.hits += 1
                node.iter = ast.Call(ast.Name(call, ast.Load()), [node.iter], [])
            return node

    return changed(Over(), tree, head)


def generator(tree: ast.Module) -> ast.Module | None:
    return over_loops(tree, "def batches(items):\n    for item in items:\n        yield item", "batches")


def yields_from(tree: ast.Module) -> ast.Module | None:
    return over_loops(tree, "def batches(items):\n    yield from items", "batches")


def wrapped_loader(tree: ast.Module) -> ast.Module | None:
    """A class of the program's own around what is gone through."""
    text = "class Batches:\n    def __init__(self, items):\n        self.items = items\n    def __iter__(self):\n        return iter(self.items)\n    def __len__(self):\n        return len(self.items)"
    return over_loops(tree, text, "Batches")


def endless(tree: ast.Module) -> ast.Module | None:
    """Batches out of a generator that begins again and again, a number of them."""

    class Endless(Change):
        def visit_For(self, node: ast.For) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.iter, ast.Name) and trains(node) and not isinstance(node.target, ast.Name):
                self.hits += 1
                node.body = [ast.Assign([node.target], value(f"next(batches_{self.hits})")), *node.body]
                made = parse(f"batches_{self.hits} = again({node.iter.id})")[0]
                node.target, node.iter = ast.Name("_", ast.Store()), value("range(1000)")
                return [made, node]
            return node

    head = "def again(items):\n    while True:\n        for item in items:\n            yield item"
    return changed(Endless(), tree, head)


def timed(tree: ast.Module) -> ast.Module | None:
    """A context manager of the program's own around each training step."""

    class Timed(Change):
        def visit_For(self, node: ast.For) -> ast.AST:
            inner = any(isinstance(s, (ast.For, ast.While)) for s in node.body)
            if trains(node) and not inner and not any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(node)):
                self.hits += 1
                around = parse('with timed("step"):\n    pass')[0]
                around.body, node.body = node.body, [around]
                return node
            return self.generic_visit(node)

    head = "from contextlib import contextmanager", "@contextmanager\ndef timed(name):\n    start = name\n    yield\n    print(start)"
    return changed(Timed(), tree, *head)


def walrus(tree: ast.Module) -> ast.Module | None:
    """The loss is named in the middle of an expression."""

    class Walrus(Change):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and "loss" in node.targets[0].id and isinstance(node.value, ast.Call):
                self.hits += 1
                return ast.Expr(ast.NamedExpr(node.targets[0], node.value))
            return node

    return changed(Walrus(), tree)


def counted(tree: ast.Module) -> ast.Module | None:
    """`while` and a counter instead of `for ... in range(...)`."""

    class Counted(Change):
        def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
            self.generic_visit(node)
            call = node.iter
            plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1
            if not plain or not isinstance(node.target, ast.Name) or any(isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(node)):
                return node
            self.hits += 1
            name = node.target.id if node.target.id != "_" else f"turn_{self.hits}"
            loop = parse(f"while {name} < 1:\n    pass\n")[0]
            loop.test.comparators = [call.args[0]]
            loop.body = [*node.body, *parse(f"{name} += 1")]
            return [*parse(f"{name} = 0"), loop]

    return changed(Counted(), tree)


def step_function(tree: ast.Module) -> ast.Module | None:
    """The body of the innermost training loop in a function beside it."""

    class Step(Change):
        def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
            if not trains(node):
                return node
            if any(isinstance(s, (ast.For, ast.While)) and trains(s) for s in ast.walk(node) if s is not node):
                return self.generic_visit(node)
            bad = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.AugAssign)
            if any(isinstance(n, bad) for n in ast.walk(node)) or names_set([node]) & self.outer:
                return node
            self.hits += 1
            names = sorted(names_set(parse(f"for {ast.unparse(node.target)} in x: pass")))
            step = parse(f"def one_step({', '.join(names)}):\n    pass")[0]
            step.body = node.body
            node.body = [ast.Expr(value(f"one_step({', '.join(names)})"))]
            return [step, node]

        outer: frozenset[str] = frozenset()

    return changed(Step(), tree)


def printed(tree: ast.Module) -> ast.Module | None:
    """Lines in between that only tell how it goes."""

    class Printed(Change):
        def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
            if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute) and node.value.func.attr in ("step", "backward", "zero_grad"):
                self.hits += 1
                return [*parse('print("going on", flush=True)'), node, *parse("log(1)")]
            return node

    return changed(Printed(), tree, "from settings import log")


def folds(tree: ast.Module) -> ast.Module | None:
    """All of it once for each fold."""
    keep, body = split(copy.deepcopy(tree))
    if not movable(keep, body) or not any(isinstance(statement, ast.For) and trains(statement) for statement in body):
        return None
    loop = parse("for fold in range(5):\n    pass")[0]
    loop.body = body
    return ast.Module([*keep, loop], [])


def unseen_step(tree: ast.Module) -> ast.Module | None:
    """An object with a method that does one step, and that nobody calls in view."""
    keep, body = split(copy.deepcopy(tree))
    place = next((n for n, s in enumerate(body) if isinstance(s, ast.For) and trains(s)), None)
    if place is None or not movable(keep, body):
        return None
    loop, before = body[place], body[:place]
    while len(loop.body) == 1 and isinstance(loop.body[0], ast.For):
        loop = loop.body[0]
    jumps = (ast.Break, ast.Continue, ast.Return, ast.Yield)
    names = names_set(before)
    targets = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    if any(isinstance(n, jumps) for n in ast.walk(loop)) or names & set(targets) or body[place + 1 :]:
        return None
    if any(isinstance(n, ast.For) and trains(n) for s in loop.body for n in ast.walk(s)):
        return None

    class Kept(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx) if node.id in names else node

    agent = parse(f"class Agent:\n    def __init__(self):\n        pass\n    def learn(self, {', '.join(targets)}):\n        pass")[0]
    agent.body[0].body = [Kept().visit(statement) for statement in before] or parse("pass")
    agent.body[1].body = [Kept().visit(statement) for statement in loop.body]
    return ast.Module([*keep, agent], [])
