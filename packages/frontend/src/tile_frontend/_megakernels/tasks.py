"""`T.Task` and `T.megakernel`: existing kernels as tasks of one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tile_frontend._language.next_chip_frames import HintFrame
from tile_frontend._megakernels.calls import LoadAhead, OrderedTasks, TaskCall, named_scalars
from tile_frontend._tracing.faults import Fault, place_of_caller
from tile_frontend._tracing.scalars import Scalar, python_number
from tile_ir import Buffer, Const, Effect, Func, LaunchSequence, Var, constant_value, walk_ops
from tile_ir.opdef import Among

if TYPE_CHECKING:
    from tile_frontend._megakernels.shapes import Turns

_NAMES = 'the name of a tensor of the megakernel, such as "x"'


class KernelTask:
    """A prim_func whose blocks are done in a larger launch: `norm = T.Task(rms_norm)`, then
    `norm("x", "weight", "n")` inside `T.megakernel`. `grid` says how many blocks there have to be,
    `name` how reports call the task."""

    def __init__(self, kernel: Any, grid: int | None = None, *, name: str | None = None) -> None:
        func = getattr(kernel, "prim_func", kernel)
        if isinstance(func, LaunchSequence):
            message = f"T.Task: `{func.name}` has {len(func.funcs)} launches, and a task is one"
            hint = "write a prim_func for each launch, and make a task of each"
            raise Fault("several-launches", message, hint, 0)
        if not isinstance(func, Func):
            hint = "pass a function under @T.prim_func, or what a factory under @T.jit returns"
            raise Fault("not-a-prim-func", f"T.Task takes a kernel, found {kernel!r}", hint, 0)
        count = constant_value(func.launch.blocks)
        if grid is not None and count is not None and count != grid:
            message = f"T.Task: `{func.name}` launches {count} blocks, not {grid}"
            raise Fault("task-grid", message, "leave `grid` out", "grid")
        _refuse_barriers(func)
        self.func, self.name = func, name or func.name

    def __call__(self, *arguments: Any, **named: Any) -> TaskCall:
        names = [p.name for p in self.func.params]
        left = names[len(arguments) :]
        unknown = [name for name in named if name not in left]
        if len(arguments) > len(names) or unknown or len(arguments) + len(named) < len(names):
            message = f"task `{self.name}` takes {', '.join(names)}"
            raise Fault("arity", message, "pass a name for each parameter of the kernel")
        given = [*arguments, *(named[name] for name in left)]
        found = place_of_caller()
        loc = found[0] if found is not None else self.func.loc
        passed = (_argument(p, a) for p, a in zip(self.func.params, given, strict=True))
        return TaskCall(self.name, self.func, tuple(passed), loc)


def Task(
    kernel: Any = None, grid: int | None = None, *, name: str | None = None, latency: Any = None,
    ii: Any = None,
) -> Any:  # fmt: skip
    """A prim_func whose blocks are done in a larger launch: `norm = T.Task(rms_norm)`, then
    `norm("x", "weight", "n")` inside `T.megakernel`. `grid` says how many blocks there have to be,
    `name` how reports call the task. Without a kernel, as scripts for the next chip have it, `with
    T.Task(latency=, ii=):` stands around statements and changes nothing."""
    return HintFrame("Task") if kernel is None else KernelTask(kernel, grid, name=name)


def _argument(param: Buffer | Var, given: Any) -> str | int | float:
    if isinstance(given, str):
        return given
    number = python_number(given)
    if isinstance(param, Var) and number is not None:
        return number
    if isinstance(param, Var) and isinstance(given, Scalar) and isinstance(given.expr, Var):
        return given.expr.name
    message = f"T.Task: `{param.name}` is given {given!r}"
    raise Fault("operand-kind", message, f"pass {_NAMES}")


def _refuse_barriers(func: Func) -> None:
    for op in walk_ops(func.launch.body):
        everyone = op.opdef.effect is Effect.SYNC_ALL and op.opdef.among is not Among.BLOCK
        of_a_kind = op.opdef.effect is Effect.SET_CROSS_FLAG and op.attr("mode") == 0
        if everyone or of_a_kind:
            message = (
                f"T.Task: {op.opdef.called} in line {op.loc.line} of `{func.name}` waits for all "
                "blocks, but a block of a task is done while others have not begun"
            )
            raise Fault("task-sync", message, "make two tasks of what stands before and behind it")


def megakernel(
    tasks: Sequence[TaskCall | OrderedTasks | LoadAhead],
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    buffers: str = "planned",
    step: str | None = None,
    turns: Any = 1,
    stacked: Sequence[str] = (),
    name: str = "megakernel",
) -> Func:
    """A prim_func that does all tasks in one launch, each block as soon as its inputs are complete.

    Between the tasks may stand `T.after(first, then)` and `T.prefetch(tensor, region)`.
    `inputs` and `outputs` are its parameters in this order; by default the tensors that no task
    writes, and those that no task reads. All other tensors are temporaries; where `buffers` is
    "planned", two of one size share memory if all uses of one come before those of the other, and
    "apart" keeps them apart. `step` names a scalar of tasks that the launch itself counts, from 1
    on and one more at each call. Words of ranks are set to it and waited for by it. The tasks are
    done `turns` times, a number or a symbol; of `stacked` tensors, which have so many parts, each
    turn has its own, and `step` counts turns. Raises KernelError with a slug `task-...` for tasks
    that do not fit.
    """
    # Most scripts have no megakernel.
    from tile_frontend._megakernels.dependences import in_order
    from tile_frontend._megakernels.listed import listed
    from tile_frontend._megakernels.rooms import rooms_of
    from tile_frontend._megakernels.shapes import Shapes
    from tile_frontend._megakernels.text import MegakernelText

    parts = (TaskCall, OrderedTasks, LoadAhead)
    named = [part for part in tasks if isinstance(part, TaskCall)]
    if not named or not all(isinstance(part, parts) for part in tasks):
        hint = 'write T.megakernel([norm("x", "w", "n"), ...]) with norm = T.Task(kernel)'
        raise Fault("operand-kind", "T.megakernel takes a list of tasks with their tensors", hint)
    if buffers not in ("planned", "apart"):
        raise Fault(
            "attribute-value", f"T.megakernel: buffers is {buffers!r}", '"planned", "apart"'
        )
    found = listed(tasks)
    calls, uses = found.calls, found.uses
    written = {t for use in uses for t in use.writes}
    read = {t for use in uses for t in use.reads}
    names = list(dict.fromkeys(t for call in calls for _, t in call.tied()))
    passed = list(inputs) if inputs is not None else [t for t in names if t not in written]
    made = list(outputs) if outputs is not None else [t for t in names if t in written - read]
    scalars = list(named_scalars(calls))
    _refuse_scalars([*passed, *made, *stacked], scalars)
    _refuse_unknown([*passed, *made, *stacked], names, written, read)
    shapes = Shapes(calls, _turns(turns, stacked, step))
    order, before = in_order(calls, uses, shapes.symmetric.union(passed), found.given)
    temporaries = [t for t in names if t not in {*passed, *made, *stacked, *shapes.symmetric}]
    shared = rooms_of(temporaries, uses, before, shapes) if buffers == "planned" else {}
    params = list(dict.fromkeys([*passed, *made]))
    text = MegakernelText(name, calls, shapes, params, shared, found.given, found.remarks)
    return text.func(order)


def _turns(turns: Any, stacked: Sequence[str], step: str | None) -> Turns:
    from tile_frontend._megakernels.shapes import Turns

    count = python_number(turns)
    if isinstance(count, int) and count > 0:
        return Turns(Const(count), frozenset(stacked), step)
    if isinstance(turns, Scalar) and isinstance(turns.expr, Var) and stacked:
        return Turns(turns.expr, frozenset(stacked), step)
    hint = 'pass a number, or a symbol such as T.symbolic("layers") that tensors are stacked by'
    raise Fault("attribute-value", f"T.megakernel: turns is {turns!r}", hint)


def _refuse_scalars(params: Sequence[str], scalars: Sequence[str]) -> None:
    for param in params:
        if param in scalars:
            message = f"T.megakernel: `{param}` is a scalar of tasks, not a tensor"
            hint = f"leave it out: calls take the tensors first, then {', '.join(scalars)}"
            raise Fault("task-region", message, hint)


def _refuse_unknown(
    params: Sequence[str], names: Sequence[str], written: set[str], read: set[str]
) -> None:
    for param in params:
        if param not in names:
            message = f"T.megakernel: no task has a tensor `{param}`"
            raise Fault("task-region", message, f"the tensors are {', '.join(names)}")
    for name in names:
        if name in read and name not in written and name not in params:
            message = f"T.megakernel: `{name}` is read, but no task writes it"
            raise Fault("task-region", message, f'add "{name}" to inputs')
