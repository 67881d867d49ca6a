"""Other ways to go through batches: progress bars as contexts, batches that are taken apart later, switches around the step."""

from __future__ import annotations

import ast

from .parts import Change, changed, innermost, is_module_class, made_model, names_set, parse, target_names, value


def _each_loop(tree: ast.Module, change, *head: str) -> ast.Module | None:
    """The program with a change in each innermost loop that trains."""

    class Loops(Change):
        def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
            if not innermost(node):
                return self.generic_visit(node)
            new = change(node)
            if new is None:
                return node
            self.hits += 1
            return new

    return changed(Loops(), tree, *head)


def bar_as_context(tree: ast.Module) -> ast.Module | None:
    """`with tqdm(loader) as bar: for ... in bar`."""

    def change(node: ast.For) -> ast.stmt | None:
        if not isinstance(node.iter, ast.Name):
            return None
        around = parse(f"with tqdm({node.iter.id}, unit='batch') as bar:\n    pass")[0]
        node.iter = value("bar")
        node.body = [*parse("bar.set_description('training')"), *node.body]
        around.body = [node]
        return around

    return _each_loop(tree, change, "from tqdm import tqdm")


def counted_bar(tree: ast.Module) -> ast.Module | None:
    """`for step, (x, y) in enumerate(tqdm(loader), 1)`."""

    def change(node: ast.For) -> ast.stmt | None:
        if not isinstance(node.iter, ast.Name):
            return None
        node.iter = value(f"enumerate(tqdm({node.iter.id}), 1)")
        node.target = ast.Tuple([ast.Name("number", ast.Store()), node.target], ast.Store())
        node.body += parse("if number % 100 == 0:\n    print(number)")
        return node

    return _each_loop(tree, change, "from tqdm import tqdm")


def taken_apart(tree: ast.Module) -> ast.Module | None:
    """`for batch in loader: x, y = batch[0], batch[1]`."""

    def change(node: ast.For) -> ast.stmt | None:
        if not isinstance(node.target, ast.Tuple) or not isinstance(node.iter, ast.Name):
            return None
        parts = [value(f"batch[{n}]") for n in range(len(node.target.elts))]
        node.body = [ast.Assign([node.target], ast.Tuple(parts, ast.Load())), *node.body]
        node.target = ast.Name("batch", ast.Store())
        return node

    return _each_loop(tree, change)


def step_of_batch(tree: ast.Module) -> ast.Module | None:
    """`def step(batch)`, which takes it apart, and `for batch in loader: step(batch)`."""

    def change(node: ast.For) -> list[ast.stmt] | None:
        stays = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.AugAssign)
        if not isinstance(node.target, ast.Tuple) or any(isinstance(n, stays) for n in ast.walk(node)):
            return None
        step = parse("def step(batch):\n    pass")[0]
        step.body = [ast.Assign([node.target], value("batch")), *node.body]
        node.target, node.body = ast.Name("batch", ast.Store()), parse("step(batch)")
        return [step, node]

    return _each_loop(tree, change)


def grad_switched(tree: ast.Module) -> ast.Module | None:
    """`with torch.set_grad_enabled(phase == "train")` around the step, in a loop over the one phase that there is."""

    def change(node: ast.For) -> ast.stmt | None:
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(node)):
            return None
        around = parse("with torch.set_grad_enabled(phase == 'train'):\n    pass")[0]
        around.body, node.body = node.body, [around]
        phases = parse("for phase in ['train']:\n    pass")[0]
        phases.body = [node]
        return phases

    if any(isinstance(n, (ast.Name, ast.Attribute)) and getattr(n, "attr", getattr(n, "id", "")) in ("no_grad", "inference_mode") for n in ast.walk(tree)):
        return None  # it would be switched on again
    has_torch = any(isinstance(s, ast.Import) and any(a.name == "torch" and not a.asname for a in s.names) for s in tree.body)
    return _each_loop(tree, change) if has_torch else None


def moved(tree: ast.Module) -> ast.Module | None:
    """Model and batches are moved to a device that is chosen elsewhere."""
    classes = {s.name for s in tree.body if is_module_class(s)}
    if "device" in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} or ".cuda(" in ast.unparse(tree) or ".to(" in ast.unparse(tree):
        return None

    class Moved(Change):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            call = made_model(node, classes)
            if call is not None:
                self.hits += 1
                node.value = ast.Call(ast.Attribute(call, "to", ast.Load()), [value("device")], [])
            return node

        def visit_For(self, node: ast.For) -> ast.AST:
            self.generic_visit(node)
            if innermost(node) and isinstance(node.iter, ast.Name) and isinstance(node.target, ast.Tuple):
                node.body = [*parse("\n".join(f"{name} = {name}.to(device)" for name in target_names(node))), *node.body]
            return node

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
            return node

    return changed(Moved(), tree, "from settings import device")


def epoch_function(tree: ast.Module) -> ast.Module | None:
    """The innermost training loop in a function that is given all that it uses: `train_epoch(model, loader, optimizer)`."""
    set_outside = names_set(tree.body)

    def change(node: ast.For) -> list[ast.stmt] | None:
        stays = (ast.Return, ast.Yield, ast.AugAssign)
        inside = names_set([node])
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if any(isinstance(n, stays) for n in ast.walk(node)) or not used & set_outside - inside:
            return None
        names = ", ".join(sorted(used & set_outside - inside))
        function = parse(f"def train_epoch({names}):\n    pass")[0]
        function.body = [node]
        return [function, *parse(f"train_epoch({names})")]

    return _each_loop(tree, change)
