"""Keep operands of products in l1, and the same tiles in ub where vector code uses them.

Values that vector code writes are handed over to l1 before the product that reads them, outside of
loops that do not change them. Loads from gm go to each memory in which they are read.
"""

from __future__ import annotations

from dataclasses import field

from tile_ir import (
    OPS,
    Alloc,
    Body,
    Buffer,
    For,
    If,
    Loc,
    Memory,
    Op,
    Section,
    Stmt,
    While,
    buffers_of,
    replace_buffers,
    walk,
    with_bodies,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.residency.handover import handover
from tile_passes.residency.value_uses import (
    OPERAND,
    TILE,
    ValueUses,
    condition_on,
    roles,
    touches,
)

# The roles whose memory holds the value.
Valid = frozenset[str]
NOWHERE: Valid = frozenset()


@dataclass(eq=False)
class OperandTile:
    """Rewrites the uses of one tile that products read. `added` are the buffers in each memory."""

    buffer: Buffer
    names: FreeNames
    added: list[Alloc] = field(default_factory=list)

    def rewritten(self, body: Body) -> Body:
        """The body with a buffer in l1, and one in ub if vector code needs it."""
        self.uses = ValueUses(self.buffer)
        self.tile = replace(self.buffer, memory=Memory.UB)
        name = self.names.fresh(f"{self.buffer.name}_l1")
        self.operand = replace(self.buffer, name=name, memory=Memory.L1)
        new, _ = self._body(body, NOWHERE, NOWHERE)
        used = {buffer for s in walk(new) for buffer in buffers_of(s)}
        if self.tile not in used:  # the name is free
            named = replace(self.operand, name=self.buffer.name)
            new = replace_buffers(new, {self.operand: named})
            self.operand = named
        both = (self.tile, self.operand)
        self.added = [Alloc(b, self.buffer.loc) for b in both if b in used or b is self.operand]
        return new

    def _body(self, body: Body, valid: Valid, wanted: Valid) -> tuple[Body, Valid]:
        """The statements, and where the value lies behind them; `wanted` are the roles in which it
        may be read there."""
        result: list[Stmt] = []
        for stmt, later in self.uses.each(body, wanted):
            new, valid = self._stmt(stmt, valid, later)
            result.extend(new)
        return tuple(result), valid

    def _stmt(self, stmt: Stmt, valid: Valid, later: Valid) -> tuple[list[Stmt], Valid]:
        if not touches(stmt, self.buffer):
            return [stmt], valid
        match stmt:
            case Op():
                return self._op(stmt, valid, later)
            case For() | While() if not is_parallel(stmt):
                return self._loop(stmt, valid, later)
            case If():
                parts = [self._body(b, valid, later) for b in (stmt.then, stmt.orelse)]
                one, other = parts[0][1], parts[1][1]
                # Where nothing was written nothing is read that counts.
                common = one & other if one and other else one | other
                if not common and (one or other):
                    parts = [self._with_operand(*p, stmt.loc) for p in parts]
                    common = frozenset({OPERAND})
                branch = condition_on(self.tile, self.buffer, stmt)
                new = with_bodies(branch, tuple(p[0] for p in parts))
                return [new], common
            case Section():
                body, valid = self._body(stmt.body, valid, later)
                return [replace(stmt, body=body)], valid
        written = self.buffer in written_buffers((stmt,))
        return [self._renamed(stmt)], frozenset({TILE}) if written else valid

    def _renamed(self, stmt: Stmt) -> Stmt:
        return replace_buffers((stmt,), {self.buffer: self.tile})[0]

    def _op(self, op: Op, valid: Valid, later: Valid) -> tuple[list[Stmt], Valid]:
        if OPERAND in roles(op, self.buffer):
            before = self._handover(valid, op.loc)
            new = replace_buffers((op,), {self.buffer: self.operand})
            return [*before, *new], valid | {OPERAND}
        if self._is_load(op):
            return self._load(op, valid, later)
        written = self.buffer in written_buffers((op,))
        return [self._renamed(op)], frozenset({TILE}) if written else valid

    def _is_load(self, op: Op) -> bool:
        """Whether an operation copies from gm to the tile, whose bytes l1 takes as they are."""
        if op.opdef is not OPS["copy"] or op.region("dst").buffer is not self.buffer:
            return False
        src = op.region("src")
        return src.memory is Memory.GM and src.dtype == self.buffer.dtype

    def _load(self, op: Op, valid: Valid, later: Valid) -> tuple[list[Stmt], Valid]:
        dst = op.region("dst")
        homes = {OPERAND: self.operand, TILE: self.tile}
        wanted = [role for role in (OPERAND, TILE) if role in later] or [OPERAND]
        before: list[Stmt] = []
        if wanted == [OPERAND] and not dst.is_whole():
            before = self._handover(valid, op.loc)  # the rest of the tile
            valid = valid | {OPERAND} if before else valid
        new = [*before, *(replace_buffers((op,), {self.buffer: homes[r]})[0] for r in wanted)]
        held = (r for r in wanted if dst.is_whole() or r in valid or not valid)
        return new, frozenset(held)

    def _handover(self, valid: Valid, loc: Loc) -> list[Stmt]:
        """The statements that bring the value to l1, if it is not there."""
        if OPERAND in valid or TILE not in valid:
            return []
        return [handover(self.tile, self.operand, loc)]

    def _with_operand(self, body: Body, valid: Valid, loc: Loc) -> tuple[Body, Valid]:
        """A body behind which the value is in l1."""
        return (*body, *self._handover(valid, loc)), valid | {OPERAND}

    def _loop(self, loop: For | While, valid: Valid, later: Valid) -> tuple[list[Stmt], Valid]:
        inside = self.uses.of_body(loop.body)
        before: list[Stmt] = []
        if OPERAND in inside.reads and self.buffer not in written_buffers(loop.body):
            before = self._handover(valid, loop.loc)
            valid = valid | {OPERAND} if valid else valid
        head = valid
        while True:
            body, end = self._body(loop.body, head, inside.reads | later)
            if head and not head & end:
                # Nowhere is the value both of before the loop and of the iteration before.
                if OPERAND not in head:
                    before.extend(self._handover(head, loop.loc))
                    head = valid = valid | {OPERAND}
                    continue
                body, end = self._with_operand(body, end, loop.loc)
            if not valid or head <= end:
                break
            head = head & end
        new = replace(loop, body=body)
        if isinstance(loop, While):
            new = replace_buffers((new,), {self.buffer: self.tile})[0]  # type: ignore[assignment]
        return [*before, new], (valid & end if valid else end)
