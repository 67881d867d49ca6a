"""Other ways to write a model: over a base class, with a mixin, with properties, inside a wrapper, on an object."""

from __future__ import annotations

import ast
import copy

from .parts import (
    KEEP,
    Change,
    changed,
    is_module_class,
    made_model,
    movable,
    names_set,
    parse,
    split,
    value,
    with_head,
)


def _module_classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [s for s in tree.body if is_module_class(s)]


def base_class(tree: ast.Module) -> ast.Module | None:
    """Layers in a base class, forward in one that derives from it and calls super()."""
    new = copy.deepcopy(tree)
    body: list[ast.stmt] = []
    hits = 0
    for node in new.body:
        init = next((s for s in getattr(node, "body", ()) if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None) if is_module_class(node) else None
        if init is None or len(node.body) < 2:
            body.append(node)
            continue
        hits += 1
        base = ast.ClassDef(f"{node.name}Base", node.bases, [], [init], [])
        passed = parse("def __init__(self, *args, **kwargs):\n    super().__init__(*args, **kwargs)")
        derived = ast.ClassDef(node.name, [ast.Name(base.name, ast.Load())], [], [*passed, *(s for s in node.body if s is not init)], node.decorator_list)
        for call in ast.walk(init):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super" and call.args:
                call.args = []
        body += [base, derived]
    return ast.Module(body, []) if hits else None


def mixin(tree: ast.Module) -> ast.Module | None:
    """forward in a class that is mixed in."""
    new = copy.deepcopy(tree)
    body: list[ast.stmt] = []
    hits = 0
    for node in new.body:
        forward = [s for s in getattr(node, "body", ()) if isinstance(s, ast.FunctionDef) and s.name == "forward"] if is_module_class(node) else []
        if forward and len(node.body) > 1:
            hits += 1
            body.append(ast.ClassDef(f"{node.name}Forward", [], [], forward, []))
            node.body = [s for s in node.body if s not in forward]
            node.bases = [ast.Name(f"{node.name}Forward", ast.Load()), *node.bases]
        body.append(node)
    return ast.Module(body, []) if hits else None


def wrapped_model(tree: ast.Module) -> ast.Module | None:
    """The model inside a module of the program's own that hands the call on."""
    classes = {s.name for s in _module_classes(tree)}

    class Wrapped(Change):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            call = made_model(node, classes)
            if call is not None:
                self.hits += 1
                node.value = ast.Call(ast.Name("Wrapped", ast.Load()), [call], [])
            return node

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
            return node

    text = ("class Wrapped({base}):\n    def __init__(self, inner):\n        super().__init__()\n        self.inner = inner\n"
            "    def forward(self, *args, **kwargs):\n        return self.inner(*args, **kwargs)")
    base = "nn.Module" if any(isinstance(n, ast.Name) and n.id == "nn" for n in ast.walk(tree)) else "torch.nn.Module"
    attributes = any(isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.attr not in _OF_MODULES and _is_wrapped(n.value.id, tree, classes) for n in ast.walk(tree))
    return None if attributes else changed(Wrapped(), tree, text.format(base=base))


_OF_MODULES = frozenset("parameters train eval to cuda cpu zero_grad named_parameters requires_grad_".split())


def _is_wrapped(name: str, tree: ast.Module, classes: set[str]) -> bool:
    return any(made_model(node, classes) is not None and node.targets[0].id == name for node in ast.walk(tree) if isinstance(node, ast.Assign))


def program_object(tree: ast.Module) -> ast.Module | None:
    """Everything on an object: `self.model`, `self.optimizer`, in a method that runs it all."""
    keep, body = split(copy.deepcopy(tree))
    if not movable(keep, body) or any(isinstance(n, (ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.Global, ast.DictComp)) for s in body for n in ast.walk(s)):
        return None
    mine = names_set([s for s in body if isinstance(s, ast.Assign)])

    class Self(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx) if node.id in mine else node

    made = [s for s in body if isinstance(s, ast.Assign)]
    cut = next((n for n, s in enumerate(body) if not isinstance(s, ast.Assign)), len(body))
    if not made or cut in (0, len(body)):
        return None
    program = parse("class Program:\n    def __init__(self):\n        pass\n    def run(self):\n        pass")[0]
    program.body[0].body = [Self().visit(s) for s in body[:cut]]
    program.body[1].body = [Self().visit(s) for s in body[cut:]]
    return ast.Module([*keep, program, *parse("Program().run()")], [])


def built_by_function(tree: ast.Module) -> ast.Module | None:
    """What is made first comes out of a function, as a tuple."""
    keep, body = split(copy.deepcopy(tree))
    cut = next((n for n, s in enumerate(body) if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name)), len(body))
    made = body[:cut]
    names = list(dict.fromkeys(s.targets[0].id for s in made))
    if cut < 2 or cut == len(body) or not movable(keep, made):
        return None
    build = parse(f"def build():\n    return {', '.join(names)}")[0]
    build.body = [*made, *build.body]
    return ast.Module([*keep, build, *parse(f"{', '.join(names)} = build()"), *body[cut:]], [])


def globals_set(tree: ast.Module) -> ast.Module | None:
    """What is made first is made by a function that declares it global."""
    keep, body = split(copy.deepcopy(tree))
    cut = next((n for n, s in enumerate(body) if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name)), len(body))
    made = body[:cut]
    if cut < 2 or cut == len(body) or not movable(keep, made):
        return None
    names = list(dict.fromkeys(s.targets[0].id for s in made))
    setup = parse(f"def setup():\n    global {', '.join(names)}")[0]
    setup.body += made
    return ast.Module([*keep, setup, *parse("setup()"), *body[cut:]], [])


def ternary(tree: ast.Module) -> ast.Module | None:
    """A model and an optimizer, each chosen in an expression."""
    classes = {s.name for s in _module_classes(tree)}

    class Ternary(Change):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            if made_model(node, classes) is not None:
                self.hits += 1
                node.value = ast.IfExp(ast.Name("small", ast.Load()), node.value, copy.deepcopy(node.value))
            return node

    new = changed(Ternary(), tree)
    return with_head(new, "from settings import small") if new is not None else None


def in_dicts(tree: ast.Module) -> ast.Module | None:
    """The model in a dict that is made of another one."""
    classes = {node.name for node in tree.body if is_module_class(node)}
    body = copy.deepcopy(tree).body
    place = next((n for n, node in enumerate(body) if made_model(node, classes) is not None), None)
    if place is None or not movable(*split(tree)):
        return None
    name = body[place].targets[0].id
    if name in names_set([*body[:place], *body[place + 1 :]]):
        return None

    class Kept(Change):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return value(f'models["{name}"]') if node.id == name else node

    rest = [Kept().visit(node) if not isinstance(node, KEEP) else node for node in body[place + 1 :]]
    made = parse(f'models = {{key: model for key, model in {{"{name}": {name}}}.items()}}')
    return ast.Module([*body[: place + 1], *made, *rest], [])
