"""The function of a megakernel: the text of its tasks, one behind the other, for one block."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tile_frontend._megakernels.calls import TaskCall
from tile_frontend._megakernels.shapes import Shapes
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.names import Names
from tile_ir import (
    OPS,
    Alloc,
    Body,
    Buffer,
    Const,
    Diagnostic,
    Expr,
    For,
    Func,
    Launch,
    LoopKind,
    Memory,
    Op,
    Phase,
    TaskKernel,
    Var,
    walk_expr,
)
from tile_ir.embedding import embedded
from tile_ir.layout.footprint import same_size
from tile_ir.ranks import is_symmetric


@dataclass
class MegakernelText:
    """Writes it. `shared` names for a temporary the one whose memory it uses. Of the pairs
    `given`, the second task begins once the first is done."""

    name: str
    calls: Sequence[TaskCall]
    shapes: Shapes
    params: Sequence[str]
    shared: Mapping[str, str]
    given: Collection[tuple[int, int]] = ()
    remarks: Sequence[Diagnostic] = ()
    names: Names = field(default_factory=Names)
    tensors: dict[str, Buffer] = field(default_factory=dict)
    views: dict[tuple[str, tuple[Expr, ...]], Buffer] = field(default_factory=dict)
    allocs: list[Alloc] = field(default_factory=list)

    def func(self, order: Sequence[int]) -> Func:
        """The tasks in this order."""
        scalars, turn = self.shapes.scalars, self.shapes.turn
        for each in (*self.params, *scalars, *self._symbols(), turn.name):
            self.names.fresh(each)
        loc = self.calls[order[0]].loc
        for param in self.params:
            self.tensors[param] = self._tensor(param, param, loc)
        block, lane = (Var(self.names.fresh(name)) for name in ("block", "lane"))
        body: Body = tuple(self._loop(n, lane) for n in order)
        if self.shapes.turns.several:
            count = self.shapes.turns.count
            body = (For(turn, Const(0), count, LoopKind.SERIAL, body, loc),)
        tensors = tuple(self.tensors[p] for p in self.params)
        launch = Launch(Const(1), block, lane, None, tuple(self.allocs), body, loc)
        funcs = [call.func for call in self.calls]
        return Func(
            self.name,
            (*tensors, *scalars.values()),
            launch,
            Phase.BUILT,
            loc,
            sources={file: text for func in funcs for file, text in func.sources.items()},
            remarks=(*dict.fromkeys(r for func in funcs for r in func.remarks), *self.remarks),
            expansions=tuple(dict.fromkeys(e for func in funcs for e in func.expansions)),
        )  # fmt: skip

    def _symbols(self) -> list[str]:
        values = (v for n in range(len(self.calls)) for v in self.shapes.values(n).values())
        own = (e for e in walk_expr(self.shapes.turns.count) if isinstance(e, Var))
        return list(dict.fromkeys(v.name for v in (*values, *own) if isinstance(v, Var)))

    def _tensor(self, tensor: str, name: str, loc: object) -> Buffer:
        where = self.calls[0].loc
        shape = self.shapes.shape(tensor)
        return Buffer(name, Memory.GM, self.shapes.dtype(tensor), shape, where)

    def _loop(self, number: int, lane: Var) -> For:
        call = self.calls[number]
        launch = call.func.launch
        instance = Var(self.names.fresh(f"{call.name}_block"))
        values = {**self.shapes.values(number), launch.block: instance, launch.lane: lane}
        tensors = {param: self._seen(number, param, name) for param, name in call.tied()}
        parts = {
            param: part
            for param, name in call.tied()
            if not is_symmetric(param) and (part := self.shapes.part(name)) is not None
        }
        self._refuse_views(call, parts)
        text = embedded(call.func, tensors, values, self.names.fresh, parts)
        self.allocs.extend(text.allocs)
        after = tuple(self.calls[first].name for first, then in self.given if then == number)
        task = TaskKernel(call.name, launch.threads, call.func.automatic, after, call.ahead)
        end = Op(OPS["sync_block"], (), (True,), replace(call.loc, generated=True))
        body = (*text.body, end)
        return For(instance, Const(0), text.blocks, LoopKind.TASK, body, call.loc, task=task)

    def _seen(self, number: int, param: Buffer, tensor: str) -> Buffer:
        """The tensor as a task has it: by its name, or a view of another shape."""
        root = self._root(self.shared.get(tensor, tensor))
        shape = self.shapes.seen_by(number, param)
        part = self.shapes.part(tensor)
        if shape == (root.shape if part is None else root.shape[1:]):
            return root
        if part is not None:
            message = f"T.megakernel: task `{self.calls[number].name}` has another shape of "
            message += f"`{tensor}`, and sees a part of it only"
            raise Fault("shape-mismatch", message, "declare it there as the other tasks have it")
        found = self.views.get((root.name, shape))
        if found is None:
            name = self.names.fresh(f"{tensor}_view")
            found = Buffer(name, Memory.GM, root.dtype, shape, self.calls[number].loc)
            if not same_size(found, root):
                message = f"T.megakernel: `{tensor}` has other sizes in task "
                hint = "give the second a name of its own"
                raise Fault("shape-mismatch", f"{message}`{self.calls[number].name}`", hint)
            self.views[root.name, shape] = found
            self.allocs.append(Alloc(found, self.calls[number].loc, alias_of=root))
        return found

    def _refuse_views(self, call: TaskCall, parts: Mapping[Buffer, Expr]) -> None:
        for alloc in call.func.launch.allocs:
            if alloc.alias_of is not None and alloc.alias_of in parts:
                message = f"T.megakernel: task `{call.name}` views `{alloc.alias_of.name}` in "
                message += "another shape, and sees a part of it only"
                raise Fault("shape-mismatch", message, "let it take the shape it needs")

    def _root(self, tensor: str) -> Buffer:
        if tensor not in self.tensors:
            loc = self.calls[0].loc
            buffer = self._tensor(tensor, self.names.fresh(tensor), loc)
            self.tensors[tensor] = buffer
            self.allocs.append(Alloc(buffer, loc))
        return self.tensors[tensor]
