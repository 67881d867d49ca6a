"""What a condition is for certain, and what it says of the names in it where it holds."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.catalogue.effects import ANSWERS
from torchlint.dryrun.builtins import class_names, never_tensors
from torchlint.dryrun.source_text import dotted
from torchlint.dryrun.torch_api.names import SCHEDULER_NAME
from torchlint.dryrun.values import (
    UNSET,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
    boolean,
    real,
    same_class,
)

_FLAG = re.compile(
    r"(?:is|do|use|has|should|needs?|with|if|no|enable|update)_\w+$|(?:is_?)?(?:train|training|eval|test|testing|val)$"
)



class Conditions:
    """The part of a run that judges conditions. See `interpreter.Run` for the state it works on."""

    def truth(self, test: cst.BaseExpression) -> bool | None:
        """Evaluates a condition; what it is for certain. Numbers are never folded: they count loops."""
        value = self.eval(test)
        self.note_uncalled(test)
        if isinstance(value, Tensor):
            self.emit("decided", value, test)
        if value.flows:
            self.emit("readout", value, test, name="truth")
        if isinstance(value, Const) and isinstance(value.value, (bool, str, type(None))):
            return bool(value.value)
        if _is_flag(value):
            return boolean(self.store.get(value, " truth"))
        if isinstance(value, Instance):
            return None if value.kind in ("dataset", "loader", "instance") else True
        if type(value) is Opaque and value.source in ("param", "attr") and SCHEDULER_NAME.search(value.name) and "bool" not in value.tags:
            return True if isinstance(test, (cst.Name, cst.Attribute)) else None  # `if scheduler:` asks whether there is one
        return None

    def note_uncalled(self, test: cst.BaseExpression) -> None:
        """A function of torch's that answers yes or no, and is asked without a call: it is a function, which is true."""
        kind = type(test)
        if kind is cst.UnaryOperation:
            self.note_uncalled(test.expression)
        elif kind is cst.BooleanOperation:
            self.note_uncalled(test.left)
            self.note_uncalled(test.right)
        elif kind is cst.Attribute and test.attr.value in ANSWERS:
            asked = self.eval(test)
            if isinstance(asked, Ref) and asked.name.startswith("torch."):
                self.emit("tested.uncalled", asked, test)

    def narrow(self, test: cst.BaseExpression, holds: bool) -> None:
        """What a condition says of the names in it: `x is None`, `not x`, `a and b`."""
        kind = type(test)
        if kind is cst.UnaryOperation and type(test.operator) is cst.Not:
            self.narrow(test.expression, not holds)
        elif kind is cst.BooleanOperation:
            if (type(test.operator) is cst.And) == holds:
                self.narrow(test.left, holds)
                self.narrow(test.right, holds)
        elif kind is cst.Comparison and len(test.comparisons) == 1:
            part = test.comparisons[0]
            if type(part.operator) in (cst.Is, cst.IsNot) and type(part.comparator) is cst.Name:
                if part.comparator.value == "None":
                    self._keep_only(test.left, (type(part.operator) is cst.Is) == holds)
            elif type(part.operator) in (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual) and (
                type(part.operator) in (cst.Is, cst.Equal)
            ) != holds:
                self._leave_out(test.left, part.comparator, same_class)
        elif kind is cst.Call and type(test.func) is cst.Name and test.func.value == "issubclass" and not holds:
            if len(test.args) == 2:
                self._leave_out(test.args[0].value, test.args[1].value, self.derives)
        elif kind is cst.Call and type(test.func) is cst.Name and test.func.value == "isinstance" and len(test.args) == 2:
            self._of_kind(test.args[0].value, test.args[1].value, holds)
        elif kind is cst.Name:
            flag = self.peek(test)
            if _is_flag(flag):
                self.store.set(flag, " truth", Const(holds))  # for as long as this path goes, in what it calls too
            self._keep_only(test, not holds, truthy=True)

    def is_none(self, value: Value, filled: bool = False) -> bool | None:
        """Whether a value is None, where that is certain; of several that it may be, where it is the same for each.
        `filled`: it is what an attribute holds that was filled in where it was None, and so is taken for something if it may be."""
        if isinstance(value, Union):
            each = {self.is_none(alt, filled) for alt in value.alts}
            return each.pop() if len(each) == 1 else False if filled else None
        if isinstance(value, Const):
            return value.value is None if value is not UNSET else None
        return False if filled or isinstance(value, (Instance, Seq, Dict, Func, Class, Tensor)) else None

    def is_filled_in(self, target: cst.BaseExpression) -> bool:
        """Whether a block `if self.it is None:` has made what the attribute holds now."""
        if not self.filled_in or type(target) is not cst.Attribute:
            return False
        owner = self.peek(target.value)
        return owner is not None and all((id(alt), target.attr.value) in self.filled_in for alt in real(owner))

    def asked_for(self, test: cst.BaseExpression) -> tuple[cst.Attribute, Value | None] | None:
        """The attribute that `self.it is None` asks for, and what it holds; None for another condition."""
        asks = type(test) is cst.Comparison and type(test.left) is cst.Attribute and _is_none_test(test)
        return (test.left, self.peek(test.left)) if asks else None

    def note_filled_in(self, target: cst.Attribute, before: Value | None) -> None:
        """Behind the block of `if self.it is None:`, which may have made it: what is not seen of it is taken for something then, or
        each that asks for it, as properties do, would make it once more."""
        owner, now = self.peek(target.value), self.peek(target)
        if owner is not None and now is not before and self.is_none(now, filled=True) is False:
            self.filled_in.update({(id(alt), target.attr.value): alt for alt in real(owner)})

    def _of_kind(self, target: cst.BaseExpression, cls: cst.BaseExpression, holds: bool) -> None:
        """A name holds something that is, or is not, of a class: of several things it may hold, those that are not so are out;
        what is only declared to be a tensor is none where it is asked for something else."""
        value = self.peek(target) if type(target) in (cst.Name, cst.Attribute) else None
        if not isinstance(value, (Union, Tensor)):
            return
        base = self.eval(cls)
        if isinstance(value, Tensor):
            if holds and value.source == "param" and never_tensors(class_names(self.items_of(base) or (base,))):
                self._holds_only(target, [Opaque(value.name, "param", value.site)])
            return
        alts = [alt for alt in value.alts if self.is_a(alt, base) is not (not holds)]
        if alts and len(alts) < len(value.alts):
            self._holds_only(target, alts)

    def _leave_out(self, target: cst.BaseExpression, cls: cst.BaseExpression, fits) -> None:
        """A name holds no class that fits `cls`: what else it may hold."""
        value = self.peek(target) if type(target) in (cst.Name, cst.Attribute) else None
        if isinstance(value, Union) and any(isinstance(alt, (Class, Ref)) for alt in value.alts):
            base = self.eval(cls)
            alts = [alt for alt in value.alts if not isinstance(alt, (Class, Ref)) or not fits(alt, base)]
            if alts and len(alts) < len(value.alts):
                self._holds_only(target, alts)

    def _keep_only(self, target: cst.BaseExpression, none: bool, truthy: bool = False) -> None:
        if type(target) not in (cst.Name, cst.Attribute):
            return
        value = self.peek(target)
        if not isinstance(value, Union):
            return
        alts = [alt for alt in value.alts if (isinstance(alt, Const) and alt.value is None) == none]
        if truthy and none:
            alts = list(value.alts)
        if alts and len(alts) < len(value.alts):
            self._holds_only(target, alts)

    def _holds_only(self, target: cst.Name | cst.Attribute, alts: list[Value]) -> None:
        """What a name or attribute holds is narrowed down: nothing is changed by that, and no module gets a new part."""
        value = alts[0] if len(alts) == 1 else Union(tuple(alts))
        if type(target) is cst.Name:
            self.set_name(target.value, value)
            return
        owners = real(self.peek(target.value))
        if len(owners) == 1:
            self.store.set(owners[0], target.attr.value, value)


def _is_flag(value: Value | None) -> bool:
    """Whether a value is an argument that says what to do, `is_train` or `update=True`: nothing changes it later."""
    return type(value) is Opaque and value.source == "param" and ("bool" in value.tags or bool(_FLAG.match(value.name)))


def _is_none_test(test: cst.Comparison) -> bool:
    """`... is None`."""
    part = test.comparisons[0]
    return len(test.comparisons) == 1 and type(part.operator) is cst.Is and type(part.comparator) is cst.Name and part.comparator.value == "None"


def puts_in_asked_mode(node: cst.If) -> bool:
    """`if not net.training: net.train()`, or `if net.training: net.eval()`: it does no more than to see to a mode that it asks for."""
    test, wanted = node.test, "eval"
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        test, wanted = test.expression, "train"
    if node.orelse is not None or type(test) is not cst.Attribute or test.attr.value != "training" or len(node.body.body) != 1:
        return False
    line = node.body.body[0]
    small = line.body[0] if type(line) is cst.SimpleStatementLine and len(line.body) == 1 else line
    call = small.value if type(small) is cst.Expr else None
    if type(call) is not cst.Call or call.args or type(call.func) is not cst.Attribute or call.func.attr.value != wanted:
        return False
    owner = dotted(test.value)
    return bool(owner) and owner == dotted(call.func.value)


def is_main_test(test: cst.BaseExpression) -> bool:
    """`__name__ == "__main__"`, which holds wherever the file is the program."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1 or type(test.comparisons[0].operator) is not cst.Equal:
        return False
    return any(type(side) is cst.Name and side.value == "__name__" for side in (test.left, test.comparisons[0].comparator))
