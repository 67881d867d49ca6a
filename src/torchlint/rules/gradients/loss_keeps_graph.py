"""106: a running loss keeps the graph of every iteration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import MOST, Const, Dict, Event, Instance, Iter, Loop, Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Change, Mend, insert_after, insert_before
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.arithmetic_on_losses import computed_from
from torchlint.rules.shared.graphs_in_vain import evaluated_with_graph
from torchlint.rules.shared.only_shown import only_shown

CODE = 106
CALLS = frozenset({"[]="})
# What writes a tensor into another: the graph of the one joins that of the other, which leads to all that was written before.
_JOINS = frozenset({"add_", "copy_", "[]="})
_LETS_GO = frozenset({"zero_", "fill_", "detach_"})


def check(view: View) -> Iterator[Report]:
    """`total += loss`, `total = total + loss`, `total.add_(loss)` or `losses.append(loss)` beside the backward of that loss, or in an evaluation."""
    for event in view.of("augment", "append", "assign", "inplace"):
        if not event.loops or event.grad_on is False:
            continue
        found = _added(view, event)
        if found is None:
            continue
        added, name = found
        kept = ((value, _trained_on(view, event, value)) for value in (*_within(view, added), *_each(view, event, added)))
        value, backward = next((pair for pair in kept if pair[1] is not None), (added, None))
        if backward is None:
            yield from _in_an_evaluation(view, event, added, name)
            continue
        if _starts_anew(view, event, name) or _sent_backward(view, event, value, name):
            continue
        anew = _reset(view, event, name)
        if anew is not None and anew.with_each_step:
            continue
        roles = {"name": name, "loss": _text(event) if value is added or event.kind == "augment" else view.loss_text(backward)}
        roles["loss"] = roles["loss"] or view.loss_text(backward)
        related = [(backward.site, "the graph that is kept was made for this")]
        if anew is not None:
            related.append((anew.site, f"`{name}` begins anew here, and lets go of them"))
        # Where another function adds up, such as a meter, other callers may give it numbers.
        here = backward.site.parsed is event.site.parsed and backward.calls == event.calls
        handed = _handed(event, backward)
        if handed is not None:
            roles = {"name": _meter(handed) or name, "loss": view.loss_text(backward)}
            related.append((event.site, "the sum is kept here"))
        yield Report(CODE, handed or event.site, roles, related, _mend(view, event, name) if here and value is added else None)


def _in_an_evaluation(view: View, event: Event, added: Value, name: str) -> Iterator[Report]:
    """A sum of losses of an evaluation that leaves gradients on: no backward frees what these graphs hold."""
    kept = ((value, evaluated_with_graph(view, event, value)) for value in _within(view, added))
    value, flow = next((pair for pair in kept if pair[1] is not None), (added, None))
    if flow is None or _handed(event, flow) is not None or _sent_backward(view, event, value, name):
        return
    related = [(flow.site, "the graph that is kept is made here, and no backward frees what it holds")]
    yield Report(CODE, event.site, {"name": name, "loss": _text(event) or "loss"}, related)


def _handed(event: Event, backward: Event) -> Site | None:
    """The call that hands the loss to a meter of another file. What is wrong is the call: others give the meter numbers."""
    file = event.site.parsed.facts
    if backward.site.parsed.facts is file:
        return None
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(event.calls, backward.calls, strict=False)))
    return next((call for call in reversed(event.calls[shared:]) if call.parsed.facts is not file), None)


def _meter(call: Site) -> str:
    """What a meter is called where it is given something: `losses` of `losses.update(loss)`."""
    func = getattr(call.node, "func", None)
    return call.parsed.text(func.value) if isinstance(func, cst.Attribute) else ""


def _within(view: View, value: Value, depth: int = 0) -> Iterator[Value]:
    """A value, and what is in it where it is a dict, tuple or list: `outputs.append({"loss": loss})`."""
    yield value
    for alt in real(value) if depth < 2 else ():
        for item in view.run.known_items(alt) if isinstance(alt, (Seq, Dict)) else ():
            yield from _within(view, item, depth + 1)


def _each(view: View, event: Event, added: Value) -> tuple[Value, ...]:
    """What a statement adds to a sum, turn by turn, where a loop goes over a dict of which items are known: `sums[key] += losses[key]`."""
    over = event.loops[-1].over
    whole = over.base if isinstance(over, Iter) and over.kind in ("items", "values", "keys") else over
    if not isinstance(whole, Dict) or _turn(view, event) is event.loops[-1]:
        return ()
    items = view.run.known_items(whole)
    alts = real(added)
    one = alts[0] if len(alts) == 1 and type(alts[0]) is Opaque else None
    own = one is not None and (one.source == "item" and one.origin is whole or one.source == "join" and _is_any_of(one, items))
    return tuple(items) if own or set(alts) <= {alt for item in items for alt in real(item)} else ()


def _is_any_of(joined: Opaque, items: Sequence[Value]) -> bool:
    """Whether a value that is one of very many is one of some items: all that it may be made of, they are made of."""
    made = {part for item in items for alt in real(item) for part in alt.parts}
    return bool(joined.flows) and all(part in made for part in joined.parts) and joined.flows <= {flow for item in items for flow in item.flows}


def _sent_backward(view: View, event: Event, value: Value, name: str) -> bool:
    """Whether the sum itself is sent backward, behind the loop or by its name: it has to keep its graph."""
    alts = set(real(value))
    for other in view.of("backward", "autograd.grad"):
        same_name = other.site.parsed is event.site.parsed and other.calls == event.calls and view.owner_text(other, "") == name
        if other.kind == "backward" and same_name:
            return True
        if _turn(view, event) in other.loops:
            continue
        # Of a loss that is made of very many parts not all are known. (What runs within a model's forward may be one event for
        # several calls of it.)
        many = len(other.parts) >= MOST and any(not flow.get("inside") for flow in other.flows & value.flows)
        if many or not alts.isdisjoint(other.parts) or any(_holds(part, event) for part in other.parts):
            return True
        if any(_is_put_together_of(part, alts) for part in other.parts):
            return True
    return False


def _is_put_together_of(part: Value, alts: set[Value]) -> bool:
    """Whether a tensor is made of a list that one of the values is in, `torch.stack(losses)`, be it of what was computed from it."""
    items = part.traits.get("put_together", ()) if isinstance(part, Tensor) else ()
    return any(alt in alts or not alts.isdisjoint(alt.parts) for item in items for alt in real(item))


def _holds(part: Value, event: Event) -> bool:
    """Whether a value is the sum, or the list, that a statement adds to."""
    if part is event.subject and event.kind in ("append", "inplace"):
        return True
    made = part.site.node if isinstance(part, Opaque) and part.site is not None else None
    return made is not None and (made is event.site.node or made is getattr(event.site.node, "value", None))


def _mend(view: View, event: Event, name: str) -> Mend | None:
    """Detaches what is added: the same number, without its graph. Safe where all that becomes of the sum is seen, and
    nobody asks for more than the number."""
    changes = _changes(event)
    return Mend("detach it", changes, only_shown(view, event.site, name)) if changes else None


def _text(event: Event) -> str:
    """What is added up, as it is written; in brackets where a method called on it would be one of its last part. "" where
    that is long, or more than one thing."""
    node = _what(event)
    if node is None or isinstance(node, (cst.Tuple, cst.List, cst.Dict)):
        return ""
    text = event.site.parsed.text(node)
    plain = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(node.lpar)
    return (text if plain else f"({text})") if len(text) <= 40 else ""


class _Reset(NamedTuple):
    """Where a sum is set to something new. `with_each_step`: in the loop whose each turn ends with a step of the optimizer."""

    site: Site
    with_each_step: bool


def _reset(view: View, event: Event, name: str) -> _Reset | None:
    """Where the sum is set to something new in each turn of an outer loop."""
    for loop in reversed(event.loops[:-1]):
        for site in _set_in_each_turn(event, loop, [name]):
            steps = any(step.loops and step.loops[-1] is loop for step in view.of("optimizer.step"))
            return _Reset(site, steps)
    return None


def _set_in_each_turn(event: Event, loop: Loop, names: list[str]) -> Iterator[Site]:
    """The statements of a loop, in the function of an event, that set one of some names in each turn."""
    body = getattr(getattr(loop.site, "node", None), "body", None)
    for statement in body.body if loop.site is not None and loop.site.parsed is event.site.parsed and isinstance(body, cst.IndentedBlock) else ():
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and any(event.site.parsed.text(target.target) in names for target in small.targets):
                yield Site(event.site.parsed, small)


def _what(event: Event) -> cst.BaseExpression | None:
    """The operand that is added, as it stands in the source."""
    node, text = event.site.node, event.site.parsed.text
    if isinstance(node, cst.AugAssign):
        return node.value
    if isinstance(node, cst.Assign) and event.kind == "inplace":
        return node.value
    if isinstance(node, cst.Assign):
        left, right = _sides(node.value)
        return right if _is_of(event, left, text(event.target)) else left
    if isinstance(node, cst.Call) and len(node.args) == 1 and not node.args[0].star:
        return node.args[0].value
    return None


def _changes(event: Event) -> list[Change]:
    added = _what(event)
    if added is None:
        return []
    if isinstance(added, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and not added.lpar:
        return [insert_after(event.site, ".detach()", added)]
    if added.lpar or isinstance(added, (cst.Tuple, cst.List, cst.Dict)):
        return []
    return [insert_before(event.site, "(", added), insert_after(event.site, ").detach()", added)]


def _added(view: View, event: Event) -> tuple[Value, str] | None:
    """The value that is added up, and the name of the sum that outlives the iteration."""
    node = event.site.node
    if event.kind == "augment":
        if event.operator != "Add":
            return None
        if not (_carries(event.subject, node, event.value) or _carries_by_others(view, event) or _kept_unseen(view, event) or _in_a_dict(view, event)):
            return None
        return event.value, event.site.parsed.text(event.target)
    if event.kind == "inplace":
        return (event.value, _written_to(event)) if _stays(view, event) else None
    if event.kind == "append":
        if not isinstance(event.subject, Seq) or event.loops[-1] in view.run.made_in.get(id(event.subject), event.loops):
            return None
        return event.value, view.owner_text(event, "list")
    sides = _sides(node.value) if isinstance(node, cst.Assign) else None
    if sides is not None and len(event.operands) == 2:
        text = event.site.parsed.text
        target = text(event.target)
        first, second = (_is_of(event, side, target) for side in sides)
        if first or second:
            old, added = event.operands if first else reversed(event.operands)
            if _carries(old, node.value, added) or text(sides[not first]) != target and _carries_a_part(old, node.value):
                return added, target
    return None


def _is_of(event: Event, side: cst.BaseExpression, target: str) -> bool:
    """Whether a side of a sum is the sum itself, or a share of it: `average * 0.9`."""
    text = event.site.parsed.text
    share = isinstance(side, cst.BinaryOperation) and isinstance(side.operator, cst.Multiply)
    return text(side) == target or share and target in (text(side.left), text(side.right))


def _carries_a_part(old: Value, node: cst.CSTNode) -> bool:
    """Whether what a share is of holds what this very addition put there in an earlier iteration."""
    return any(
        isinstance(part, Opaque) and part.flows and part.site is not None and part.site.node is node
        for alt in real(old) if isinstance(alt, Opaque) and alt.source == "op" for part in alt.parts
    )


def _stays(view: View, event: Event) -> bool:
    """Whether a tensor that something is written into is there before the loop, and never lets go of what it holds within it."""
    changed, loop = event.subject, event.loops[-1]
    if event.method not in _JOINS or event.value is None or type(changed) is not Tensor or changed.source != "made" or changed.serial > loop.serial:
        return False
    others = (other for other in view.of("inplace", "method") if other.subject is changed and loop in other.loops)
    return not any((other.get("method") or other.get("name")) in _LETS_GO for other in others)


def _written_to(event: Event) -> str:
    """What a tensor is called where something is written into it: `total` of `total.add_(loss)` and of `total[i] = loss`."""
    node = event.site.node
    target = node.targets[0].target if isinstance(node, cst.Assign) else getattr(node, "func", None)
    return event.site.parsed.text(target.value) if isinstance(target, (cst.Attribute, cst.Subscript)) else "it"


def _in_a_dict(view: View, event: Event) -> bool:
    """Whether a sum is one of several in a dict that is there before the turn, `self.sums[key] += value`, and not set anew within it, nor
    is the dict, but every so many turns."""
    turn, alts = _turn(view, event), [alt for alt in real(event.subject) if not isinstance(alt, Const)]
    held = [alt.origin for alt in alts if type(alt) is Opaque and alt.source == "item"]
    born = [_born(whole) for whole in held]
    if not held or len(held) < len(alts) or None in born or not any(serial < turn.serial for serial in born):
        return False
    if any(_is_begun_anew(other, event) for other in view.of("item.set") if turn in other.loops and not set(real(other.subject)).isdisjoint(held)):
        return False
    return not _whole_begins_anew(view, event, turn, held) and not _is_summed_up_and_sent(view, held)


def _dicts(event: Event) -> list[str]:
    """What the dicts are called that a sum lies in: `sums["train"]` and `sums` of `sums["train"][key]`."""
    names, node = [], event.target
    while isinstance(node, cst.Subscript):
        node = node.value
        names.append(event.site.parsed.text(node))
    return names


def _whole_begins_anew(view: View, event: Event, turn: Loop, held: list[Value]) -> bool:
    """Whether a turn puts a new dict in the place of that of the sums, or empties it, under no other condition than it adds to it."""
    names = _dicts(event)
    if any(True for _ in _set_in_each_turn(event, turn, names)):
        return True
    for other in view.of("setattr", "item.set"):
        if turn not in other.loops or not set(other.guards) <= set(event.guards):
            continue
        if any(_born(alt) is not None for alt in real(other.value)) and any(name in names for name in _targets(other)):
            return True
    emptied = (other for other in view.of("unknown", "method") if turn in other.loops and other.get("name") in ("clear", "pop"))
    return any(not set(real(other.subject)).isdisjoint(held) for other in emptied)


def _targets(event: Event) -> list[str]:
    """What is assigned to, as it is written."""
    node = event.site.node
    targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [getattr(node, "target", None)]
    return [event.site.parsed.text(target) for target in targets if target is not None]


def _is_summed_up_and_sent(view: View, held: list[Value]) -> bool:
    """Whether something that is read of the sums goes backward: `sum(sums.values()).backward()`."""
    return any(isinstance(part, Opaque) and part.origin in held for other in view.of("backward", "autograd.grad") for part in other.parts)


def _born(whole: Value | None) -> int | None:
    """When a dict of sums was made, be it one that begins with numbers by itself, `defaultdict(float)`; None where it is no such dict."""
    if isinstance(whole, Dict):
        return whole.born
    if type(whole) is not Opaque or whole.source != "call" or whole.name not in _BEGIN_BY_THEMSELVES or whole.site is None:
        return None
    given = getattr(whole.site.node, "args", ())
    of_numbers = not given or bool(_FACTORY.match(whole.site.parsed.text(given[0].value)))
    return whole.serial if of_numbers else None


_BEGIN_BY_THEMSELVES = frozenset({"collections.defaultdict", "collections.Counter"})
_FACTORY = re.compile(r"(?:float|int|list)$|lambda\s*:\s*(?:0(?:\.0*)?|\[\])$|lambda\s*:\s*torch\.(?:zeros|tensor)\(")


def _is_begun_anew(other: Event, event: Event) -> bool:
    """Whether an item of a dict is set to something that nothing was added to, be it not the first: `if key not in sums: sums[key] = 0`."""
    if other.site == event.site or other.value.flows:
        return False
    return not any(_FIRST.search(guard.site.parsed.text(guard.site.node)) for guard in other.guards)


_FIRST = re.compile(r"\bnot in\b|\bnot \w+ in\b")
_ASKS_FOR_KIND = re.compile(r"\b(?:isinstance|is_tensor|hasattr|type|try|item|detach|clear|pop)\b")


def _turn(view: View, event: Event) -> Loop:
    """The loop in whose turns a sum grows: the one around a loop over what one turn has computed, where sums are kept in a dict."""
    loop, inner = event.loops[-1], event.loops[-1].site
    if event.kind != "augment" or len(event.loops) < 2 or not isinstance(event.target, cst.Subscript) or inner is None:
        return loop
    sent = [backward.loops for backward in view.of("backward")]
    place = inner.location()
    lines = inner.parsed.facts.lines[place.row - 1 : place.end_row]
    if any(loop in loops for loops in sent) or any(map(_ASKS_FOR_KIND.search, lines)):
        return loop
    return next((outer for outer in reversed(event.loops) if any(outer in loops for loops in sent)), loop)


def _sides(value: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two sides of a sum, or the two tensors that `torch.cat` puts together."""
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        return value.left, value.right
    if isinstance(value, cst.Call) and value.args and isinstance(value.args[0].value, (cst.List, cst.Tuple)):
        elements = value.args[0].value.elements
        return (elements[0].value, elements[1].value) if len(elements) == 2 else None
    return None


def _starts_anew(view: View, event: Event, name: str) -> bool:
    """Whether the sum goes back to zero where the optimizer steps, every so many batches: it holds the graphs of one
    step's batches then, and no more."""
    added = event.site.location().row
    names = (name, *_dicts(event)) if event.kind == "augment" else (name,)
    for step in view.of("optimizer.step"):
        if not step.guards or _turn(view, event) not in step.loops or step.site.parsed is not event.site.parsed:
            continue
        row = step.site.location().row
        for block in _blocks(tree_of(text_of(event.site.parsed))):
            with_step = any(_covers(one, row) for one in block) and not any(_covers(one, added) for one in block)
            if with_step and any(one.lineno > added and _is_reset(one, each) for one in block for each in names):
                return True
    return False


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _covers(statement: ast.stmt, row: int) -> bool:
    return statement.lineno <= row <= (statement.end_lineno or statement.lineno)


def _is_reset(statement: ast.stmt, name: str) -> bool:
    """`total = 0`, `losses = []`, `total = torch.zeros(1)`."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(ast.unparse(target) == name for target in targets) and bool(_NOTHING.match(ast.unparse(statement.value)))


_NOTHING = re.compile(r"(?:0|0\.0?|\[\]|\{\}|None)$|torch\.(?:zeros|tensor)\(|(?:collections\.)?(?:defaultdict|Counter)\(")


def _carries(old: Value, node: cst.CSTNode, added: Value) -> bool:
    """Whether the sum holds what this very addition put there in an earlier iteration, and is no number by then."""
    unseen = not added.flows
    return any(
        isinstance(alt, Opaque) and (alt.flows or unseen) and alt.site is not None and alt.site.node is node for alt in real(old)
    )


def _carries_by_others(view: View, event: Event) -> bool:
    """Whether the same turn adds to the sum at another place, too, and that one carries on what this addition has put there:
    `total += real_loss`, and then `total += fake_loss`."""
    last = [alt.site for alt in real(event.subject) if isinstance(alt, Opaque) and alt.flows and alt.site is not None]
    target = event.site.parsed.text(event.target)
    return any(
        other.operator == "Add" and other.loops == event.loops and other.site in last and other.site.parsed.text(other.target) == target
        and _carries(other.subject, event.site.node, event.value)
        for other in (view.of("augment") if last else ())
    )


def _kept_unseen(view: View, event: Event) -> bool:
    """Whether a sum of what no model in view has made begins outside the loop and goes on in each of its turns: such a loop is run once."""
    loop = event.loops[-1].site
    if event.value.flows or loop is None or loop.parsed is not event.site.parsed or not all(isinstance(alt, Const) for alt in real(event.subject)):
        return False
    if not isinstance(event.target, (cst.Name, cst.Attribute)) or _trained_on(view, event, event.value) is None:
        return False
    name, place = event.site.parsed.text(event.target), loop.location()
    anew = re.compile(rf"\s*(?:[\w.]+\s*[,=]\s*)*{re.escape(name)}\s*(?:,\s*[\w.]+\s*)*(?::[^=]+)?=(?!=)")
    return not any(map(anew.match, event.site.parsed.facts.lines[place.row - 1 : place.end_row]))


def _trained_on(view: View, event: Event, value: Value) -> Event | None:
    alts = real(value)
    if alts and not value.flows:  # no model in view made it: it has a graph all the same where it is sent backward
        sent = {id(other.subject): other for other in view.of("backward") if _turn(view, event) in other.loops}
        return sent.get(id(alts[0])) if all(id(alt) in sent for alt in alts) else None
    if not alts or not all(isinstance(alt, Opaque) and alt.flows for alt in alts):
        return None
    if any(isinstance(alt, Tensor) and alt.traits.get("graph") is False for alt in alts):
        return None
    may_learn = all(any(_may_learn(view, flow) for flow in alt.flows) for alt in alts)
    for backward in view.of("backward"):
        if _turn(view, event) not in backward.loops:
            continue
        for alt in alts:
            # What is sent backward has a graph, whatever made it: the call raises without one.
            if backward.subject is alt or computed_from(alt, backward.subject):
                return backward
            if not may_learn or alt not in backward.parts and not any(computed_from(alt, loss) for loss in (*_losses_in(backward), *_terms_in(alt, backward))):
                continue
            if not _divides(backward, alt):
                return backward
    return None


def _divides(backward: Event, alt: Value) -> bool:
    """Whether the loss is divided by something that a model that is not seen has given beside it, `out["loss"] / out["n_items"]`: a count,
    that need not have a graph."""
    if type(alt) is not Opaque or alt.source != "item" or not alt.name:
        return False
    unit, lines = backward.site.parsed.unit, backward.site.parsed.facts.lines
    divided = re.compile(rf"/=?\s*(?:float\()?[\w.\[\]'\"]*\b{re.escape(alt.name)}\b")
    return any(divided.search(line.split("#", 1)[0]) for line in lines[unit.start - 1 : unit.end])


def _may_learn(view: View, forward: Event) -> bool:
    """Whether a graph may begin at a forward: what another library makes (a filter bank, a resampler) may have nothing that
    learns, where the optimizers are given other things."""
    trained = [module for created in view.of("optimizer.create") for module in created.modules]
    return not trained or any(
        not _of_a_library(module) or any(view.related_modules(other, module) for other in trained) for module in real(forward.subject)
    )


def _of_a_library(module: Value) -> bool:
    if isinstance(module, Instance):
        return module.cls is None and not module.type.startswith("torch.")
    return type(module) is Opaque and module.source == "call" and "." in module.name


def _terms_in(alt: Value, backward: Event) -> Iterator[Value]:
    """What a number is computed of with a graph, and the loss as well: `distance = real - fake` beside `(fake - real + penalty).backward()`."""
    if not isinstance(alt, Tensor) or alt.source != "op" or alt.traits.get("graph") is not True or not alt.traits.get("number"):
        return
    cut = [part for part in alt.parts if isinstance(part, Tensor) and part.traits.get("graph") is False]
    for part in alt.parts & backward.parts:
        if isinstance(part, Tensor) and part.flows and part.traits.get("graph") is True and not any(part in other.parts for other in cut):
            yield part


def _losses_in(backward: Event) -> Iterator[Value]:
    """The losses that are added up to what is sent backward: another sum of the same ones holds the same graphs."""
    for part in backward.parts:
        if isinstance(part, Tensor) and part.traits.get("loss") and part.traits.get("graph") is not False:
            yield part
