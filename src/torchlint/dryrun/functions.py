"""Functions of the project: they are run where they are called."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.large_calls import LargeCalls
from torchlint.dryrun.parts import HOPELESS
from torchlint.dryrun.store import Store
from torchlint.dryrun.summaries import Summaries
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import NONE, Func, Iter, Opaque, Ref, Tensor, Value, join
from torchlint.sieve.facts import Unit

DECLARED = {"Module": "module", "Optimizer": "optimizer", "DataLoader": "loader", "GradScaler": "scaler"}
HARMLESS_DECORATORS = frozenset(
    """staticmethod classmethod property cached_property abstractmethod wraps lru_cache cache dataclass overload override
    contextmanager jit.script jit.export jit.ignore jit.unused torch.jit.script torch.jit.export torch.jit.ignore
    torch.jit.unused hydra.main click.command click.option click.argument record typing.overload abc.abstractmethod
    functools.wraps functools.lru_cache functools.cached_property torch.compile torch.compiler.disable""".split()
)
_MODES = frozenset({"no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast", "eval", "train"})
_UNDONE = frozenset({"module.train", "module.eval", "module.mode", "flag.set", "leaf.set", "load", "setting", "setattr"})


def declared_type(annotation: str) -> str:
    """The class that an annotation names, without its package and what it is generic over; "" where it names several."""
    text = re.sub(r"\s", "", annotation).strip("\"'")
    match = re.fullmatch(r"(?:[\w.]*\.)?(\w+)(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])?", text)
    return match[1] if match else ""


class Functions(Summaries, LargeCalls):
    """The part of a run that runs the project's functions. See `interpreter.Run` for the state it works on."""

    def inline(self, func: Func, args, kwargs, node: cst.CSTNode | None, self_value: Value | None = None) -> Value:
        """Runs a function of the project where it is called; what it returns."""
        key = func.key
        known = self.known_again(func, args, kwargs, node)
        if known is not None:
            return known
        if self.seen.calls and self.is_large_again(func, self_value, args, kwargs):
            return self.not_followed(func, args, kwargs, node)
        if self.is_too_deep(key):
            self.cuts.append(self.stack.index(key) if key in self.stack else -1)
            made = self.not_followed(func, args, kwargs, node)
            if type(made) is Opaque and key in self.stack:
                made.tags |= {"again"}  # it gives what the function gives that is being run
            return made
        definition, parsed = self.definition(func)
        if definition is None:
            return self.not_followed(func, args, kwargs, node)
        call = self.call_begins(func)
        frame = self.new_frame(func, self_value)
        saved = (self.frame, self.parsed, self.store, self.jumps, self.call_sites, self.guards)
        depth = frame.depth = len(self.contexts)
        if node is not None:
            self.call_sites = (*self.call_sites, self.site(node))
        self.stack.append(key)
        frame.base = self.store
        tails = list(self.graph.tails)
        began = self.steps
        try:
            self.store = Store(self.store)
            self.jumps = []
            outer_frame, outer_parsed = self.frame, self.parsed
            self.frame, self.parsed = frame, parsed
            self.push_decorators(func, definition)
            self.bind(definition, args, kwargs, (outer_frame, outer_parsed), func)
            if type(definition) is cst.Lambda:
                value = self.eval(definition.body)
                frame.returns.append((self.store.writes_since(frame.base), value, self.graph.tails))
            else:
                self.suite(definition.body)
                if not self.graph.dead:
                    frame.returns.append((self.store.writes_since(frame.base), NONE, self.graph.tails))
        except self.TooMuch:
            self.took[id(key)] = max(self.took.get(id(key), 0), self.steps - began)
            frame.returns, frame.base = [], None  # a run that is given up, too, leaves no circle to the collector
            raise
        finally:
            self.frame, self.parsed, self.store, self.jumps, self.call_sites, self.guards = saved
            del self.contexts[depth:]
            self.stack.pop()
            self.kept_open -= call is not None
        self.entered.add(id(key))
        self.note_if_large(func, self_value, args, kwargs, self.steps - began)
        was_plain = self.call_ran(call, frame, args, kwargs)
        returns = frame.returns
        value = self.returned(frame, func, args, kwargs, node, tails)
        if was_plain:
            self.call_ended(call, returns, func, args, kwargs, value)
        return value

    def not_followed(self, func: Func, args, kwargs, node: cst.CSTNode | None) -> Value:
        """What a call gives that is not run: as one that cannot be seen, where it stands in the source at all."""
        return self.unknown_call(func.name, args, kwargs, node) if node is not None else Opaque(func.name, "call")

    def is_too_deep(self, key) -> bool:
        """Whether a function is not followed where it is called: it is being run, or too many are."""
        return key in self.stack or len(self.stack) >= self.most_depth

    def is_hopeless(self, unit: Unit | None) -> bool:
        """Whether a run of a function from its start is too much, as far as can be told: one that came to it was, and
        all but a little of what that did was done in it."""
        return self.took.get(id(unit), 0) > HOPELESS * self.most_steps

    def returned(self, frame, func: Func, args, kwargs, node, tails) -> Value:
        """Goes on after a call: the paths that returned meet."""
        returns = frame.returns
        if not returns and frame.yields:  # an endless generator: its caller goes on all the same
            returns = [({}, NONE, list(dict.fromkeys([*tails, *frame.last])))]
        frame.returns, frame.base = [], None  # the stores hold the frame: a circle
        if not returns:
            if _left_to_others(func):
                self.graph.tails = tails
                return self.not_followed(func, args, kwargs, node)
            self.graph.tails = []
            return Opaque(func.name, "call")
        if not frame.captured:
            returns = [
                ({key: value for key, value in writes.items() if key[0] is not frame}, value, tails)
                for writes, value, tails in returns
            ]
        self.meet([(writes, tails) for writes, _, tails in returns])
        result = returns[0][1]
        for _, value, _ in returns[1:]:
            result = join(result, value)
        if frame.yields:
            items = self.sequence("list", frame.yields[-1:], None, True)
            made = Iter("generator", items, None, once=True)
            before, opens = frame.opens
            # What it does behind the yield is seen too early: of such a one nothing is known.
            undoes = any(event.kind in _UNDONE for event in self.graph.events[before:])
            made.opens = None if undoes else opens
            return made
        return result

    def new_frame(self, func: Func, self_value: Value | None):
        frame = self.Frame(func.facts, func, func.frame)
        frame.self_value = self_value
        if func.frame is not None:
            self.outer.append(func.frame.born)
        if func.unit is not None:
            self.units.append(func.unit)
            self.reach(func.unit)
        return frame

    def definition(self, func: Func):
        """The function's libcst node and the tree it belongs to."""
        if func.node is None:
            parsed = self.world.parse(func.facts, func.unit)
            if parsed is None or not parsed.body or not isinstance(parsed.body[0], cst.FunctionDef):
                return None, None
            func.node, func.parsed = parsed.body[0], parsed
        return func.node, func.parsed

    def bind(self, definition, args, kwargs, caller, func: Func) -> None:
        """Gives the parameters their values."""
        params = definition.params
        names = [*params.posonly_params, *params.params]
        rest = list(args)
        given = dict(kwargs)
        unsure = "*" in given or "**" in given
        given.pop("*", None)
        given.pop("**", None)
        for param in names:
            name = param.name.value
            if rest:
                value = rest.pop(0)
                if name == "self" and self.frame.self_value is None and func.home is not None:
                    self.frame.self_value = value
            elif name in given:
                value = given.pop(name)
            elif param.default is not None and not unsure:
                value = self.eval(param.default)
            else:
                value = self.parameter(param)
            self.store.set(self.frame, name, value)
        for param in params.kwonly_params:
            name = param.name.value
            if name in given:
                value = given.pop(name)
            elif param.default is not None and not unsure:
                value = self.eval(param.default)
            else:
                value = self.parameter(param)
            self.store.set(self.frame, name, value)
        if type(params.star_arg) is cst.Param:
            self.store.set(self.frame, params.star_arg.name.value, self.sequence("tuple", rest, None, unsure))
        if params.star_kwarg is not None:
            self.store.set(self.frame, params.star_kwarg.name.value, self.mapping(given, None, unsure))

    def parameter(self, param: cst.Param) -> Value:
        """An argument of which nothing is known but what its declaration says."""
        tags = set()
        if param.annotation is not None:
            declared = declared_type(self.parsed.text(param.annotation.annotation))
            if declared == "Tensor":
                return Tensor(param.name.value, "param", self.site(param))
            if declared in DECLARED:
                tags.add(DECLARED[declared])
        value = Opaque(param.name.value, "param", self.site(param), tags=frozenset(tags))
        if param.default is not None and type(param.default) is cst.Name and param.default.value in ("True", "False"):
            value.tags |= {"bool"}
        return value

    def run_root_function(self, func: Func, self_value: Value | None = None) -> Value:
        """Runs a function that nothing seen calls: its parameters are not known."""
        args = [self_value] if self_value is not None and "staticmethod" not in (func.unit.decorators if func.unit else ()) else []
        if func.unit is not None and "classmethod" in func.unit.decorators:
            args = [func.home] if func.home is not None else []
        return self.inline(func, args, {"**": NONE}, None, self_value)

    # -- decorators -----------------------------------------------------------------------------------------------

    def push_decorators(self, func: Func, definition) -> None:
        """Opens the contexts that a function's decorators put around its body."""
        for decorator in getattr(definition, "decorators", ()):
            expression = decorator.decorator
            called = type(expression) is cst.Call
            name = self.dotted(expression.func if called else expression)
            self.push_decorator(name, expression)

    def push_decorator(self, name: str, node: cst.CSTNode) -> None:
        first, _, rest = name.partition(".")
        if name in HARMLESS_DECORATORS or name.rsplit(".", 1)[-1] in HARMLESS_DECORATORS or name.endswith((".setter", ".command")):
            return
        value = self.global_value(first, self.frame.facts)
        if isinstance(value, Func) and not rest and not self.may_switch_gradients(value, node):
            return
        qualified = canonical(f"{value.name}.{rest}" if rest else value.name) if isinstance(value, Ref) else "?"
        if isinstance(value, Opaque) and value.source == "call" and rest and not (value.name or "torch.").partition(".")[0] in ("torch", ""):
            return  # a method of what a library makes, `@experiment.automain`, `@app.route("/")`: no more is known of its functions
        if qualified in ("torch.no_grad", "torch.inference_mode"):
            self.contexts.append(self.Context("grad", self.site(node), False))
        elif qualified == "torch.enable_grad":
            self.contexts.append(self.Context("grad", self.site(node), True))
        elif qualified in ("torch.amp.autocast", "torch.amp.custom_fwd"):
            self.contexts.append(self.Context("autocast", self.site(node)))
        elif qualified == "?" or qualified.startswith("torch"):
            self.contexts.append(self.Context("grad", self.site(node), None))


    def may_switch_gradients(self, decorator: Func, node: cst.CSTNode) -> bool:
        """Whether a decorator of the project may put what it decorates under another mode: one that only takes the time does not."""
        definition, _ = self.definition(decorator)
        if definition is None or decorator.unit is None or decorator.unit.words & _MODES:
            return True
        return any(type(part) is cst.With for part in walk(definition)) or any(
            type(part) is cst.Name and part.value in _MODES for part in walk(node)
        )


def _left_to_others(func: Func) -> bool:
    """Whether a method only says that subclasses must write it: what is called in the end is not known."""
    return func.unit is not None and "NotImplementedError" in func.unit.words
