"""What the rewrites share: pieces of programs as trees, and a transformer that counts what it changed."""

from __future__ import annotations

import ast
import copy

Program = "ast.Module | dict[str, ast.Module] | None"  # None: the rewrite does not apply
KEEP = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def parse(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def value(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def name_of(node: ast.expr) -> str:
    return ast.unparse(node)


def split(tree: ast.Module) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Definitions and imports, and the statements that do something."""
    return [n for n in tree.body if isinstance(n, KEEP)], [n for n in tree.body if not isinstance(n, KEEP)]


def names_set(body: list[ast.stmt]) -> set[str]:
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def movable(keep: list[ast.stmt], body: list[ast.stmt]) -> bool:
    """Whether no definition reads a name that the statements set: they can become local."""
    read = {n.id for s in keep for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return bool(body) and not read & names_set(body)


def trains(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in ("backward", "step") for n in ast.walk(node))


def innermost(node: ast.For) -> bool:
    """Whether a loop trains, and none within it does."""
    return trains(node) and not any(isinstance(s, (ast.For, ast.While)) and trains(s) for s in ast.walk(node) if s is not node)


def target_names(node: ast.For) -> list[str]:
    return [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]


class Change(ast.NodeTransformer):
    """A transformer that counts its hits: without one the rewrite does not apply."""

    hits = 0


def changed(transformer: Change, tree: ast.Module, *head: str) -> ast.Module | None:
    """A program with something changed, and lines put behind its imports."""
    new = transformer.visit(copy.deepcopy(tree))
    if not transformer.hits:
        return None
    return with_head(new, *head)


def with_head(tree: ast.Module, *head: str) -> ast.Module:
    last = max((n for n, s in enumerate(tree.body) if isinstance(s, IMPORTS)), default=-1)
    tree.body[last + 1 : last + 1] = [s for line in head for s in parse(line)]
    return tree


def is_optimizer(call: ast.expr) -> bool:
    name = name_of(call.func) if isinstance(call, ast.Call) else ""
    return "optim." in name and "lr_scheduler" not in name and bool(call.args)


def is_loader(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and name_of(call.func).endswith("DataLoader") and bool(call.args)


def is_module_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and [name_of(base) for base in node.bases] in (["nn.Module"], ["torch.nn.Module"])


def made_model(node: ast.stmt, classes: set[str]) -> ast.Call | None:
    """The call that makes an object of a project's own module, where a statement assigns it to a name."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        call = node.value
        if isinstance(call, ast.Call) and (name_of(call.func) in classes or name_of(call.func).endswith("nn.Sequential")):
            return call
    return None
