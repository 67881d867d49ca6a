"""What a statement imports, and under which names."""

from __future__ import annotations

import ast

from torchlint.sieve.facts import FileFacts


def note_imports(node: ast.stmt, facts: FileFacts) -> None:
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
