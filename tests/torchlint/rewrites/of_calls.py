"""Other ways to write a call: arguments by keyword, through partial(), out of settings; names under other names."""

from __future__ import annotations

import ast
import copy

from .parts import KEEP, Change, changed, is_loader, is_optimizer, name_of, parse, value, with_head

_NAMES = {"cross_entropy": ("input", "target"), "mse_loss": ("input", "target"), "nll_loss": ("input", "target"),
          "binary_cross_entropy": ("input", "target"), "binary_cross_entropy_with_logits": ("input", "target")}


def keywords(tree: ast.Module) -> ast.Module | None:
    """Every argument that has a name is given by it."""

    class Keywords(Change):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            last = name_of(node.func).rpartition(".")[2]
            names = ("params",) if is_optimizer(node) else ("dataset",) if is_loader(node) else _NAMES.get(last, ())
            if names and 0 < len(node.args) <= len(names) and not any(isinstance(arg, ast.Starred) for arg in node.args):
                self.hits += 1
                node.keywords = [*(ast.keyword(name, arg) for name, arg in zip(names, node.args)), *node.keywords]
                node.args = []
            return node

    return changed(Keywords(), tree)


def partial(tree: ast.Module) -> ast.Module | None:
    """Optimizers and loaders through functools.partial."""

    class Partial(Change):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if (is_optimizer(node) or is_loader(node)) and node.keywords:
                self.hits += 1
                made = ast.Call(value("functools.partial"), [node.func], node.keywords)
                return ast.Call(made, node.args, [])
            return node

    return changed(Partial(), tree, "import functools")


def options(tree: ast.Module) -> ast.Module | None:
    """The keywords in a dict of their own."""

    class Options(Change):
        def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
            if (is_optimizer(node.value) or is_loader(node.value)) and node.value.keywords and all(k.arg for k in node.value.keywords):
                self.hits += 1
                given = ast.Assign([ast.Name(f"options_{self.hits}", ast.Store())], ast.Call(ast.Name("dict", ast.Load()), [], node.value.keywords))
                node.value.keywords = [ast.keyword(None, ast.Name(f"options_{self.hits}", ast.Load()))]
                return [given, node]
            return node

    return changed(Options(), tree)


def settings(tree: ast.Module) -> ast.Module | None:
    """Numbers out of a dataclass of the program."""
    fields: dict[str, ast.expr] = {}

    class Settings(Change):
        def visit_keyword(self, node: ast.keyword) -> ast.AST:
            self.generic_visit(node)
            if node.arg in ("lr", "momentum", "batch_size", "weight_decay") and isinstance(node.value, ast.Constant):
                if name_of(fields.setdefault(node.arg, node.value)) == name_of(node.value):
                    self.hits += 1
                    node.value = value(f"config.{node.arg}")
            return node

    new = changed(Settings(), tree)
    if new is None:
        return None
    lines = "".join(f"    {name}: float = {name_of(number)}\n" for name, number in fields.items())
    return with_head(new, "from dataclasses import dataclass", f"@dataclass\nclass Config:\n{lines}", "config = Config()")


def arguments(tree: ast.Module) -> ast.Module | None:
    """The learning rate from the command line."""

    class Arguments(Change):
        def visit_keyword(self, node: ast.keyword) -> ast.AST:
            if node.arg == "lr" and isinstance(node.value, ast.Constant) and node.value.value:
                self.hits += 1
                node.value = value("args.rate")
            return node

    head = ("import argparse", "parser = argparse.ArgumentParser()", 'parser.add_argument("--rate", type=float, default=0.1)', "args = parser.parse_args()")
    taken = any(isinstance(node, (ast.Name, ast.arg)) and getattr(node, "id", getattr(node, "arg", "")) in ("args", "parser") for node in ast.walk(tree))
    return None if taken else changed(Arguments(), tree, *head)


def another_name(tree: ast.Module) -> ast.Module | None:
    """`import torch as th`."""

    class Another(Change):
        def visit_Import(self, node: ast.Import) -> ast.AST:
            for alias in node.names:
                if alias.name == "torch" and alias.asname is None:
                    self.hits += 1
                    alias.asname = "th"
            return node

        def visit_Name(self, node: ast.Name) -> ast.AST:
            node.id = "th" if node.id == "torch" else node.id
            return node

    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    dotted = any(isinstance(node, ast.Import) and any(a.name.startswith("torch.") and not a.asname for a in node.names) for node in ast.walk(tree))
    return None if dotted or any("torch" in text for text in texts) else changed(Another(), tree)


def imported_if_there(tree: ast.Module) -> ast.Module | None:
    """`try: import ... except ImportError: raise`."""
    new = copy.deepcopy(tree)
    imports = [s for s in new.body if isinstance(s, (ast.Import, ast.ImportFrom)) and getattr(s, "module", "") != "__future__"]
    if not imports or any(isinstance(s, ast.ImportFrom) and s.module and s.module.startswith("torch.") for s in imports):
        return None
    attempt = parse("try:\n    pass\nexcept ImportError:\n    raise SystemExit('torch is missing')")[0]
    attempt.body = imports
    first = new.body.index(imports[0])
    rest = [s for s in new.body if s not in imports]
    return ast.Module([*rest[:first], attempt, *rest[first:]], [])


def star_import(tree: ast.Module) -> dict[str, ast.Module] | None:
    """Classes and functions in a file of their own, all of which is imported."""
    new = copy.deepcopy(tree)
    classes = [s for s in new.body if isinstance(s, ast.ClassDef)]
    rest = [s for s in new.body if s not in classes and not isinstance(s, (ast.Import, ast.ImportFrom))]
    imports = [s for s in new.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    others = {n.id for c in classes for n in ast.walk(c) if isinstance(n, ast.Name)} & {
        n.id for s in rest for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
        s.name for s in rest if isinstance(s, KEEP[2:])}
    used = {n.id for c in classes for n in ast.walk(c) if isinstance(n, ast.Name)}
    if not classes or not rest or others & used:
        return None
    return {"parts.py": ast.Module([*imports, *classes], []), "train.py": ast.Module([*imports, *parse("from parts import *"), *rest], [])}
