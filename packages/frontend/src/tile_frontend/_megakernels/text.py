"""The function of a megakernel: the text of its tasks, one behind the other, for one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tile_frontend._megakernels.calls import TaskCall
from tile_frontend._megakernels.shapes import Shapes
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.names import Names
from tile_ir import (
    OPS,
    Alloc,
    Buffer,
    Const,
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
)
from tile_ir.embedding import embedded
from tile_ir.layout.footprint import same_size


@dataclass
class MegakernelText:
    """Writes it. `shared` names for a temporary the one whose memory it uses."""

    name: str
    calls: Sequence[TaskCall]
    shapes: Shapes
    params: Sequence[str]
    shared: Mapping[str, str]
    names: Names = field(default_factory=Names)
    tensors: dict[str, Buffer] = field(default_factory=dict)
    views: dict[tuple[str, tuple[Expr, ...]], Buffer] = field(default_factory=dict)
    allocs: list[Alloc] = field(default_factory=list)

    def func(self, order: Sequence[int]) -> Func:
        """The tasks in this order."""
        scalars = dict.fromkeys(v for n in order for v in self._scalars(n))
        for each in (*self.params, *(v.name for v in scalars), *self._symbols()):
            self.names.fresh(each)
        loc = self.calls[order[0]].loc
        for param in self.params:
            self.tensors[param] = self._tensor(param, param, loc)
        block, lane = (Var(self.names.fresh(name)) for name in ("block", "lane"))
        body = tuple(self._loop(n, lane) for n in order)
        tensors = tuple(self.tensors[p] for p in self.params)
        launch = Launch(Const(1), block, lane, None, tuple(self.allocs), body, loc)
        funcs = [call.func for call in self.calls]
        return Func(
            self.name,
            (*tensors, *scalars),
            launch,
            Phase.BUILT,
            loc,
            sources={file: text for func in funcs for file, text in func.sources.items()},
            remarks=tuple(dict.fromkeys(r for func in funcs for r in func.remarks)),
            expansions=tuple(dict.fromkeys(e for func in funcs for e in func.expansions)),
        )  # fmt: skip

    def _scalars(self, number: int) -> list[Var]:
        named = {given for _, given in self.calls[number].scalars() if isinstance(given, str)}
        return [Var(given, p.dtype) for p, given in self.calls[number].scalars() if given in named]

    def _symbols(self) -> list[str]:
        values = (v for n in range(len(self.calls)) for v in self.shapes.values(n).values())
        return list(dict.fromkeys(v.name for v in values if isinstance(v, Var)))

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
        text = embedded(call.func, tensors, values, self.names.fresh)
        self.allocs.extend(text.allocs)
        task = TaskKernel(call.name, launch.threads, call.func.automatic)
        end = Op(OPS["sync_block"], (), (True,), replace(call.loc, generated=True))
        body = (*text.body, end)
        return For(instance, Const(0), text.blocks, LoopKind.TASK, body, call.loc, task=task)

    def _seen(self, number: int, param: Buffer, tensor: str) -> Buffer:
        """The tensor as a task has it: by its name, or a view of another shape."""
        root = self._root(self.shared.get(tensor, tensor))
        shape = self.shapes.seen_by(number, param)
        if shape == root.shape:
            return root
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

    def _root(self, tensor: str) -> Buffer:
        if tensor not in self.tensors:
            loc = self.calls[0].loc
            buffer = self._tensor(tensor, self.names.fresh(tensor), loc)
            self.tensors[tensor] = buffer
            self.allocs.append(Alloc(buffer, loc))
        return self.tensors[tensor]
