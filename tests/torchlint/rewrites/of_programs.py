"""Other ways to put a program together: what is made travels in objects, dicts and arguments, and the parts lie in several files."""

from __future__ import annotations

import ast
import copy

from .parts import IMPORTS, KEEP, Change, changed, movable, names_set, parse, split, value, with_head


def _made_first(tree: ast.Module) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]] | None:
    """Definitions, what is made at the beginning, and what is done with it; None where a program has no such parts."""
    keep, body = split(copy.deepcopy(tree))
    cut = next((n for n, s in enumerate(body) if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name)), len(body))
    if cut < 2 or cut == len(body) or not movable(keep, body):
        return None
    return keep, body[:cut], body[cut:]


def _names(made: list[ast.stmt], rest: list[ast.stmt]) -> list[str]:
    """What is made, as far as the rest uses it."""
    used = {n.id for s in rest for n in ast.walk(s) if isinstance(n, ast.Name)}
    return [name for name in dict.fromkeys(s.targets[0].id for s in made) if name in used]


def _rebinds(names: list[str], rest: list[ast.stmt]) -> bool:
    return bool(set(names) & names_set(rest))


def _through(tree: ast.Module, hold: str, place: str, *head: str) -> ast.Module | None:
    """What is made is kept in one thing, and used out of it: `hold` makes that of names, `place` is where one lies in it."""
    parts = _made_first(tree)
    if parts is None:
        return None
    keep, made, rest = parts
    names = _names(made, rest)

    class Kept(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id not in names:
                return node
            new = value(place.format(name=node.id))
            new.ctx = node.ctx
            return new

    nested = any(isinstance(n, (ast.FunctionDef, ast.Lambda)) for s in rest for n in ast.walk(s))
    if nested or not names:
        return None
    held = parse(hold.format(order=", ".join(names), names=", ".join(f"{name}={name}" for name in names), fields="".join(f"    {name}: object\n" for name in names)))
    return with_head(ast.Module([*keep, *made, *held, *[Kept().visit(s) for s in rest]], []), *head)


def in_namespace(tree: ast.Module) -> ast.Module | None:
    """`ctx = SimpleNamespace(model=model, ...)`, and `ctx.model` from there on."""
    return _through(tree, "ctx = SimpleNamespace({names})", "ctx.{name}", "from types import SimpleNamespace")


def in_dict(tree: ast.Module) -> ast.Module | None:
    """`state = dict(model=model, ...)`, and `state["model"]` from there on."""
    return _through(tree, "state = dict({names})", "state['{name}']")


def in_dataclass(tree: ast.Module) -> ast.Module | None:
    """A dataclass of the program with a field for each thing."""
    return _through(tree, "@dataclass\nclass State:\n{fields}\nstate = State({names})", "state.{name}", "from dataclasses import dataclass")


def in_named_tuple(tree: ast.Module) -> ast.Module | None:
    """A NamedTuple that is given all in its order."""
    return _through(tree, "class State(NamedTuple):\n{fields}\nstate = State({order})", "state.{name}", "from typing import NamedTuple")


def trainer(tree: ast.Module) -> ast.Module | None:
    """`Trainer(model=model, ...).fit()`: an object that is given all, and keeps it."""
    parts = _made_first(tree)
    if parts is None:
        return None
    keep, made, rest = parts
    names = _names(made, rest)
    if not names or any(isinstance(n, (ast.FunctionDef, ast.Lambda)) for s in rest for n in ast.walk(s)):
        return None

    class Kept(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx) if node.id in names else node

    sets = "".join(f"        self.{name} = {name}\n" for name in names)
    made_class = parse(f"class Trainer:\n    def __init__(self, {', '.join(names)}):\n{sets}    def fit(self):\n        pass")[0]
    made_class.body[1].body = [Kept().visit(s) for s in rest]
    call = parse(f"Trainer({', '.join(f'{name}={name}' for name in names)}).fit()")
    return ast.Module([*keep, made_class, *made, *call], [])


def _given(tree: ast.Module, by_keyword: bool) -> ast.Module | None:
    parts = _made_first(tree)
    if parts is None or _rebinds(_names(*parts[1:]), parts[2]):
        return None
    keep, made, rest = parts
    names = _names(made, rest)
    function = parse(f"def train({', '.join(names)}):\n    pass")[0]
    function.body = rest
    main = parse("def main(args):\n    pass")[0]
    given = ", ".join(f"{name}={name}" if by_keyword else name for name in names)
    main.body = [*made, *parse(f"train({given})")]
    return ast.Module([*keep, function, main, *parse("if __name__ == '__main__':\n    main(None)")], [])


def given(tree: ast.Module) -> ast.Module | None:
    """`train(model, optimizer, loader)`, called by `main(args)`."""
    return _given(tree, False)


def given_by_name(tree: ast.Module) -> ast.Module | None:
    return _given(tree, True)


def in_two_files(tree: ast.Module) -> dict[str, ast.Module] | None:
    """The training in `engine.py`, what it is given in `train.py`."""
    new = _given(tree, False)
    if new is None:
        return None
    imports = [s for s in new.body if isinstance(s, IMPORTS)]
    rest = [s for s in new.body if s not in imports]
    functions = [s for s in rest if isinstance(s, ast.FunctionDef) and s.name != "main"]
    others = {s.name for s in rest if isinstance(s, KEEP[2:])} - {s.name for s in functions}
    used = {n.id for s in functions for n in ast.walk(s) if isinstance(n, ast.Name)}
    if used & others:
        return None
    taken = parse(f"from engine import {', '.join(s.name for s in functions)}")
    left = [s for s in rest if s not in functions]
    return {"engine.py": ast.Module([*imports, *functions], []), "train.py": ast.Module([*imports, *taken, *left], [])}


def model_file(tree: ast.Module) -> dict[str, ast.Module] | None:
    """Classes in `models.py`, which is imported as a whole: `models.Net()`."""
    new = copy.deepcopy(tree)
    classes = [s for s in new.body if isinstance(s, ast.ClassDef)]
    names = {s.name for s in classes}
    imports = [s for s in new.body if isinstance(s, IMPORTS)]
    rest = [s for s in new.body if s not in classes and s not in imports]
    defined = names_set(rest) | {s.name for s in rest if isinstance(s, KEEP[2:])}
    if not classes or not rest or "models" in names_set([tree]) or defined & {n.id for c in classes for n in ast.walk(c) if isinstance(n, ast.Name)}:
        return None

    class Whole(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return value(f"models.{node.id}") if node.id in names else node

    return {"models.py": ast.Module([*imports, *classes], []),
            "train.py": ast.Module([*imports, *parse("import models"), *[Whole().visit(s) for s in rest]], [])}


def started_elsewhere(tree: ast.Module) -> dict[str, ast.Module] | None:
    """All in a function of one file that another starts."""
    keep, body = split(copy.deepcopy(tree))
    if not movable(keep, body):
        return None
    main = parse("def main(args):\n    pass")[0]
    main.body = body
    start = "import argparse\nfrom train import main\nif __name__ == '__main__':\n    main(argparse.ArgumentParser().parse_args())"
    return {"train.py": ast.Module([*keep, main], []), "run.py": ast.Module(parse(start), [])}


def by_lambdas(tree: ast.Module) -> ast.Module | None:
    """Steps as lambdas: `advance = lambda: optimizer.step()`."""

    class Lambdas(Change):
        def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("step", "zero_grad") and not call.args:
                self.hits += 1
                return [ast.Assign([ast.Name(f"advance_{self.hits}", ast.Store())], ast.Lambda(parse("def f(): pass")[0].args, call)),
                        *parse(f"advance_{self.hits}()")]
            return node

    return changed(Lambdas(), tree)


def decorated(tree: ast.Module) -> ast.Module | None:
    """All in a function under a decorator of a library, `@hydra.main(...)`."""
    keep, body = split(copy.deepcopy(tree))
    if not movable(keep, body):
        return None
    main = parse('@hydra.main(config_path="conf", config_name="config")\ndef main(cfg):\n    pass')[0]
    main.body = body
    return with_head(ast.Module([*keep, main, *parse("if __name__ == '__main__':\n    main()")], []), "import hydra")


def single_imports(tree: ast.Module) -> ast.Module | None:
    """`from torch.nn import Linear`, `from torch.optim import SGD` instead of `nn.Linear` and `torch.optim.SGD`."""
    taken: set[tuple[str, str]] = set()
    named = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {s.name for s in tree.body if isinstance(s, KEEP[2:])}
    modules = {"nn": "torch.nn", "torch.nn": "torch.nn", "torch.optim": "torch.optim", "optim": "torch.optim"}

    class Single(Change):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            module = modules.get(ast.unparse(node.value))
            if module is not None and node.attr[:1].isupper() and node.attr not in named:
                self.hits += 1
                taken.add((module, node.attr))
                return ast.Name(node.attr, node.ctx)
            return self.generic_visit(node)

    new = changed(Single(), tree)
    return with_head(new, *(f"from {module} import {name}" for module, name in sorted(taken))) if new is not None else None


def from_yaml(tree: ast.Module) -> ast.Module | None:
    """Learning rates, and how many epochs there are, out of a file of settings."""

    class Settings(Change):
        def visit_keyword(self, node: ast.keyword) -> ast.AST:
            if node.arg in ("lr", "weight_decay") and isinstance(node.value, ast.Constant) and node.value.value:
                self.hits += 1
                node.value = value(f"cfg['train']['{node.arg}']")
            return node

    head = ("import yaml", "with open('config.yaml') as file:\n    cfg = yaml.safe_load(file)")
    return changed(Settings(), tree, *head)


def after_flags(tree: ast.Module) -> ast.Module | None:
    """What is done stands under a switch of the command line: `if args.train: ...`."""
    parts = _made_first(tree)
    if parts is None:
        return None
    keep, made, rest = parts
    under = parse("if args.train:\n    pass")[0]
    under.body = rest
    head = ("import argparse", "parser = argparse.ArgumentParser()", "parser.add_argument('--train', action='store_true')", "args = parser.parse_args()")
    return with_head(ast.Module([*keep, *made, under], []), *head)
