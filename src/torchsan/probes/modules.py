"""forward: calls of root modules (those of the user's that stand in no other), by hooks on these alone.

Subject: the module. `training`, `grad` (bools: the modes it ran under), `args`, `kwargs`, `depth` (0 for the outermost
hooked call of the thread), `output` afterwards (None where it raised). module.add: a module gets a child (`name`,
`child`). parameter.create: a module gets a parameter (`name`, `parameter`) while a root's forward runs. module.end: a
root is about to die, and nothing of it is gone yet.

Roots are the modules given to `watch`, or where it is given none those that live already and are called, and those that
register parameters or children while a watch runs (torch's official registration hooks tell of them). They are hooked
when the next optimizer is built, or at the next call of any module: a global hook that sees one call and takes itself
away tells of that.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from torch import nn
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.nn.modules import module as registration
from torch.nn.parallel import DistributedDataParallel

from torchsan.own import gc, threading, torch, weakref
from torchsan.program.compiled import compiler
from torchsan.report.deliver import SanError
from torchsan.stream import events
from torchsan.stream.events import begin, end, happened, quiet_threads, rest
from torchsan.stream.hooks_at_rest import HooksAtRest
from torchsan.stream.patches import Patches
from torchsan.stream.resting_checks import Plan
from torchsan.stream.weak_ids import WeakIds


class _State(threading.local):
    """The calls of hooked modules that are being made: the module, its event, and the frame that makes the call."""

    def __init__(self) -> None:
        self.open: list[tuple[nn.Module, events.Event | None, Any]] = []


_state = _State()
_grad_mode = torch.is_grad_enabled
_seen = WeakIds()  # modules that were built, or called, while a watch runs
_parents = WeakIds()  # of these, the ones that have a parent
_hooked: dict[int, tuple[weakref.ref, list[Any]]] = {}
_waiting: dict[int, tuple[weakref.ref, Any]] = {}  # hooked to be roots from their first call on
# Roots whose end cannot be told, for their class has a `__del__` of its own, or there was none to tell it at the time. They
# are let go of as soon as something new is built: a program that trains one model after the other has one of them.
_kept: dict[int, nn.Module] = {}
_dying: list[nn.Module] = []  # roots, though nothing refers to them any more
_unraised: list[SanError] = []  # found at a root's end, where Python lets nobody raise
_copied = [False]
_armed: list[Any] = [None]
_arms = threading.RLock()  # of several threads that build modules one registers the hook
_TABLES = (  # where a module keeps its hooks, and what is kept of them
    ("_forward_pre_hooks", ("_forward_pre_hooks_with_kwargs",)),
    ("_forward_hooks", ("_forward_hooks_with_kwargs", "_forward_hooks_always_called")),
)
_news = [False]  # whether anything was registered since roots were looked for


class _Hook:
    """A module hook. A copy of the module (a teacher, a saved best) carries it along, so a copy is remembered: its hook
    has to be found and taken away in the end."""

    def __deepcopy__(self, memo: dict) -> _Hook:
        _copied[0] = True
        return self

    def __reduce__(self) -> tuple:
        return _nothing, ()


class _BeforeHook(_Hook):
    def __call__(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if is_dynamo_compiling() or compiler._is_compiling_flag:
            return
        frame, plan = sys._getframe(1), rest.now
        # Whether this is just the call that is expected while the checks rest; else, and for all who look closer, `_before`.
        if plan is not None and plan.who == id(module) and plan.grad is _grad_mode() and plan.training is module.training:
            if get_ident() == rest.thread and not quiet_threads and (plan.ends_unheard or _is_in_place(plan)):
                try:
                    is_calm = plan.look(module, args, kwargs)
                except Exception:
                    is_calm = False
                if is_calm:
                    rest.now = plan.then
                    if not plan.ends_unheard:
                        plan.calls.append((module, None, frame))
                    return
        _before(module, args, kwargs, frame)


class _AfterHook(_Hook):
    def __call__(self, module: nn.Module, args: tuple, kwargs: dict, output: Any = None) -> None:
        if is_dynamo_compiling() or compiler._is_compiling_flag:
            return
        calls = _state.open
        if calls and (last := calls[-1])[1] is None and last[0] is module:
            calls.pop()  # nobody wants to know
        else:
            _after(module, args, kwargs, output)


class _FirstHook(_Hook):
    def __call__(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        if is_dynamo_compiling() or compiler._is_compiling_flag or id(module) in _hooked:
            return
        _, handle = _waiting.pop(id(module), (None, None))
        if handle is not None:
            handle.remove()
        add([module])
        _before(module, args, kwargs, sys._getframe(1))  # its own hooks were put on too late for this call


class _Nothing:
    def __call__(self, *args: Any) -> None:
        return None


def _nothing() -> _Nothing:
    """What a pickled hook becomes where it is loaded."""
    return _Nothing()


def install(patches: Patches) -> None:
    patches.on_undo(_take_down)  # after what is below: a module that another thread builds meanwhile is heard of no more
    patches.handle(registration.register_module_parameter_registration_hook(_on_parameter))
    patches.handle(registration.register_module_module_registration_hook(_on_module))
    patches.method(nn.Module, "compile", _compile)
    patches.method(nn.Module, "__getstate__", _getstate)
    if "__del__" not in vars(nn.Module):
        nn.Module.__del__ = _end  # type: ignore[attr-defined]
        patches.on_undo(_no_end)
    rest.falls_asleep, rest.rises = _falls_asleep, _rises


def let_go() -> None:
    """Keep no model alive that the program does not keep: it needs the memory."""
    _kept.clear()


def add(modules: Iterable[nn.Module]) -> None:
    """Hook these modules as roots."""
    for module in modules:
        if id(module) not in _hooked and isinstance(module, nn.Module):
            if isinstance(module, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
                continue  # cannot carry Python hooks
            _seen.add(module)
            if isinstance(module, DistributedDataParallel):
                # Evaluation by-passes the wrapper. While it is being built, its part is there only after it was told of.
                add(part for part in module._modules.values() if part is not None)
            _know(module, _hook(module))


def _know(module: nn.Module, handles: list[Any]) -> None:
    def gone(_: Any, key: int = id(module), pop: Any = _hooked.pop) -> None:  # bound: at the interpreter's end names are gone
        pop(key, None)

    _hooked[id(module)] = (weakref.ref(module, gone), handles)
    _keep(module)


def _keep(module: nn.Module) -> None:
    if getattr(type(module), "__del__", None) is not _end:
        _kept[id(module)] = module


def _end(module: nn.Module) -> None:
    """Stands as `nn.Module.__del__`: the last look at a model, when the program has let go of it."""
    if "_is_replica" in module.__dict__:
        return  # of DataParallel's: see `_before`
    # The collector takes weak references away before it calls this.
    if id(module) not in _hooked and not any(hook is _before_hook for hook in module.__dict__.get("_forward_pre_hooks", {}).values()):
        return
    if events.is_quiet():
        _kept[id(module)] = module  # the collector ran while a check was at work
        return
    _dying.append(module)
    try:
        happened("module.end", module)
    except SanError as found:
        _unraised.append(found)
    finally:
        _dying[:] = [one for one in _dying if one is not module]  # another thread may be at the end of another one


def _no_end() -> None:
    if vars(nn.Module).get("__del__") is _end:
        del nn.Module.__del__  # type: ignore[attr-defined]


def unraised() -> list[SanError]:
    """What was found at the end of models and is to be raised; each is given once."""
    given = _unraised[:]
    _unraised.clear()
    return given


def _hook(module: nn.Module) -> list[Any]:
    """Hear of the calls of a module; what is to be removed in the end."""
    if module.__dict__.get("_compiled_call_impl") is not None:
        return [_CompiledCall(module)]
    return [module.register_forward_pre_hook(_before_hook, with_kwargs=True, prepend=True), _hook_after(module)]


def _hook_after(module: nn.Module) -> Any:
    return module.register_forward_hook(_after_hook, with_kwargs=True, always_call=True)


class _CompiledCall:
    """Stands before what `module.compile()` made of a module: hooks would be compiled into it."""

    def __init__(self, module: nn.Module):
        self._module = weakref.ref(module)
        self._original = original = module.__dict__["_compiled_call_impl"]

        def call(*args: Any, **kwargs: Any) -> Any:
            called = self._module()
            if called is None or is_compiling():
                return original(*args, **kwargs)
            _before_hook(called, args, kwargs)
            output = None
            try:
                output = original(*args, **kwargs)
            finally:
                _after_hook(called, args, kwargs, output)
            return output

        self._call = module.__dict__["_compiled_call_impl"] = call

    def remove(self) -> None:
        module = self._module()
        if module is not None and module.__dict__.get("_compiled_call_impl") is self._call:
            module.__dict__["_compiled_call_impl"] = self._original


def _compile(original: Callable) -> Callable:
    def compile(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        discover()
        known = id(self) in _hooked
        remove([self])
        original(self, *args, **kwargs)
        if known:
            add([self])

    return compile


def _getstate(original: Callable) -> Callable:
    def __getstate__(self: nn.Module) -> Any:
        """A pickled model, such as `torch.save(model)` writes, knows nothing of a watch. Copies are to be known."""
        state = original(self)
        if type(state) is dict and sys._getframe(1).f_code.co_filename != copy.__file__:
            for table, extras in _TABLES:
                ours = {key for key, hook in (state.get(table) or {}).items() if isinstance(hook, (_Hook, _Nothing))}
                for name in (table, *extras) if ours else ():
                    held = state.get(name) or {}
                    state[name] = type(held)((key, value) for key, value in held.items() if key not in ours)
        return state

    return __getstate__


def discover() -> None:
    """Hook the roots among the modules built since the first watch started."""
    _disarm()
    if _news[0]:
        _news[0] = False
        add([m for m in _seen if m not in _parents and id(m) not in _hooked and not _is_part(m)])


def wait_for_those_alive() -> None:
    """Hook the models that were built before anybody watched: all modules that are part of no other and have what to
    learn. Each is a root from its first call on."""
    kinds: dict[type, bool] = {}
    living, parts = [], set()
    for thing in gc.get_objects():
        kind = type(thing)
        if kind not in kinds:
            kinds[kind] = nn.Module in kind.__mro__ and not issubclass(kind, torch.jit.ScriptModule)
        if kinds[kind] and type(own := thing.__dict__.get("_modules")) is dict:
            living.append(thing)
            parts.update(map(id, own.values()))
    for module in living:
        if id(module) not in parts and id(module) not in _hooked and not _is_part(module):
            if "_compiled_call_impl" in module.__dict__:
                add([module])  # a hook that goes away again would have it compiled twice
            else:
                handle = module.register_forward_pre_hook(_first_hook, with_kwargs=True, prepend=True)
                _waiting[id(module)] = weakref.ref(module, lambda _, key=id(module), pop=_waiting.pop: pop(key, None)), handle


def remove(modules: Iterable[nn.Module]) -> None:
    """Take the hooks off these modules again."""
    for module in modules:
        _kept.pop(id(module), None)
        for handle in _hooked.pop(id(module), (None, []))[1]:
            handle.remove()


def roots() -> list[nn.Module]:
    """The hooked modules."""
    living = [module for known, _ in list(_hooked.values()) if (module := known()) is not None]
    return [*living, *(module for module in _dying if not any(module is other for other in living))]


def built() -> WeakIds:
    """The modules that were built, or called, while a watch runs."""
    return _seen


def count() -> int:
    """How many modules are hooked."""
    return len(_hooked)


def _arm() -> None:
    """Hear of the next call of any module."""
    if _armed[0] is None:
        with _arms:
            if _armed[0] is None:
                _armed[0] = registration.register_module_forward_pre_hook(_next_call)


def _disarm() -> None:
    if _armed[0] is not None:
        with _arms:
            if _armed[0] is not None:
                _armed[0].remove()
                _armed[0] = None


def _next_call(module: nn.Module, args: tuple) -> None:
    if is_compiling():
        return
    known = id(module) in _hooked
    discover()
    if not known and id(module) in _hooked:
        frame = sys._getframe(1)
        kwargs = frame.f_locals.get("kwargs")  # which torch gives to no global hook
        _before(module, args, kwargs if type(kwargs) is dict else {}, frame)  # its own hooks were put on too late for this call


def is_compiled(module: nn.Module) -> bool:
    """Whether `torch.compile` or `module.compile` will run this module, not Python."""
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


def _is_part(module: nn.Module) -> bool:
    """Loss functions and lone layers without anything to learn are no models."""
    try:
        return next(module.parameters(), None) is None
    except Exception:  # a class that torch itself cannot walk through
        return True


def _on_parameter(module: nn.Module, name: str, parameter: Any) -> None:
    if is_compiling():
        return
    _news[0] = True
    let_go()
    _seen.add(module)
    _arm()
    if parameter is None:
        return
    if rest.now is not None:
        _rises()  # this may be in the midst of a forward
    if _state.open:
        happened("parameter.create", module, name=name, parameter=parameter)


def _on_module(module: nn.Module, name: str, child: Any) -> None:
    if is_compiling():
        return
    _news[0] = True
    _seen.add(module)
    _arm()
    if isinstance(child, nn.Module):
        happened("module.add", module, name=name, child=child)
        _parents.add(child)
        _seen.add(child)
        if id(child) in _hooked:
            add([module])  # a wrapper (DDP, torch.compile, a larger model) around a root is a root
        if is_compiled(module):
            discover()  # torch warns of global hooks, such as ours is until then, where a compiled module is called
            if not _is_part(child):
                add([module])


def _is_in_place(plan: Plan) -> bool:
    """Whether a call comes as deep inside of others as is expected."""
    if plan.calls is None:
        plan.calls = _state.open  # to read what a thread has takes long
    return len(plan.calls) == plan.depth


def _falls_asleep(first: Plan) -> None:
    _at_rest.take(first, _end_of)


def _end_of(key: int) -> tuple[nn.Module, int] | None:
    """The model with this id, and the key of the hook that tells how its forwards end."""
    known, handles = _hooked.get(key, (_none, []))
    module = known()
    return None if module is None or len(handles) < 2 else (module, handles[1].id)


def _none() -> None:
    return None


def _rises() -> None:
    _state.open.extend(_at_rest.put_back(_hooked))


def _before(module: nn.Module, args: tuple, kwargs: dict, frame: Any) -> None:
    if "_is_replica" in module.__dict__:
        return  # DataParallel makes these anew for each call of the model, and calls them in threads of their own
    if rest.now is not None:
        _rises()  # what is not just as expected is told how it ends
    calls = _state.open
    while calls and not _is_running(calls[-1][2]):
        calls.pop()  # torch calls no hook where a forward was interrupted
    if id(module) not in _hooked:  # a copy announces itself by its first call
        is_whole = any(hook is _after_hook for hook in module.__dict__.get("_forward_hooks", {}).values())
        _know(module, [] if is_whole or "_forward_hooks" not in module.__dict__ else [_hook_after(module)])
    event = begin(
        "forward",
        module,
        training=module.training,
        grad=torch.is_grad_enabled(),
        args=args,
        kwargs=kwargs,
        depth=len(calls),
    )
    calls.append((module, event, frame))


def _is_running(frame: Any) -> bool:
    """Whether this call is made in `frame`, or in one that it called."""
    at: Any = sys._getframe(1)
    while at is not None and at is not frame:
        at = at.f_back
    return at is not None


def _after(module: nn.Module, args: tuple, kwargs: dict, output: Any = None) -> None:
    calls = _state.open
    if not calls:
        return
    if calls[-1][0] is not module:
        if not any([called is module for called, _, _ in calls]):
            return
        while calls[-1][0] is not module:
            calls.pop()
    _, event, _ = calls.pop()
    if event is not None:
        event.output = output
        end(event)


_before_hook, _after_hook, _first_hook = _BeforeHook(), _AfterHook(), _FirstHook()
_at_rest = HooksAtRest()


def _take_down() -> None:
    _disarm()
    for known, handles in [*_hooked.values(), *((known, [handle]) for known, handle in _waiting.values())]:
        for handle in handles:
            handle.remove()
        module = known()
        if module is not None:
            _strip(module)  # a copy carries hooks of which there are no handles
    if _copied[0]:
        for thing in gc.get_objects():
            if nn.Module in type(thing).__mro__ and "_forward_hooks" in thing.__dict__:
                _strip(thing)
    _copied[0] = False
    _news[0] = False
    _hooked.clear()
    _waiting.clear()
    _kept.clear()
    _unraised.clear()
    _seen.clear()
    _parents.clear()
    _state.open.clear()


def _strip(module: nn.Module) -> list[tuple[dict, dict]]:
    """Take our hooks off a module. What its tables of hooks were before, each with the table."""
    before = []
    for table, extras in _TABLES:
        hooks = module.__dict__.get(table, {})
        ours = [key for key, hook in hooks.items() if isinstance(hook, (_Hook, _Nothing))]
        for held in [hooks, *(module.__dict__.get(extra, {}) for extra in extras)] if ours else ():
            before.append((held, dict(held)))
            for key in ours:
                held.pop(key, None)
    return before


@contextmanager
def without_hooks(model: nn.Module) -> Iterator[None]:
    """For what makes something else of a model, and would take our hooks into it."""
    before = [table for module in nn.Module.modules(model) for table in _strip(module)]
    try:
        yield
    finally:
        for held, hooks in before:
            kept = dict(held)
            held.clear()
            held.update({**hooks, **kept})
