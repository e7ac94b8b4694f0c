"""Deals the blocks of a grid that is larger than the chip out to its cores."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    Automatic,
    Body,
    Const,
    Core,
    Diagnostic,
    Effect,
    Expr,
    For,
    Func,
    KernelError,
    Let,
    LoopKind,
    Op,
    Phase,
    Section,
    Target,
    Var,
    ceildiv,
    constant_value,
    core_of,
    minimum,
    walk,
    walk_ops,
)
from tile_ir.opdef import Among
from tile_ir.quick_dataclasses import replace
from tile_passes.clock.grid_times import grid_times
from tile_passes.free_names import FreeNames
from tile_passes.passdef import ir_pass

# Tiles that a core works on at a time: one is loaded while the one before is stored.
STAGES = 2


@ir_pass(needs=Phase.TYPED)
def persistent(func: Func, target: Target) -> Func:
    """Launch at most one block per core, each of which runs several blocks of the grid.

    Needs, gives: TYPED. Idea: core `c` of `n` runs the blocks `c`, `c + n`, ..., so that blocks
    running at the same time are neighbours of the grid and share operands. If all work is for one
    kind of core, the loop is pipelined: a block is loaded while the one before is stored. The pass
    runs if the kernel requests it (`Automatic.BLOCKS`), or if it leaves the grid to the compiler
    (`Automatic.GRID`) and the loop is modelled no slower. The loop saves the starts of blocks, but
    cannot give blocks of different lengths to idle cores. Limits: kernels with automatic order
    only, since a manual order ends with its block. Blocks that wait for all others are an error if
    the kernel requests the loop.
    """
    cores = target.cube_cores
    grid = func.launch.blocks
    count = constant_value(grid)
    asked = Automatic.BLOCKS in func.automatic
    if not (asked or Automatic.GRID in func.automatic) or (count is not None and count <= cores):
        return func
    if not asked and count is None:
        return func  # what callers compute from its size, as room in gm, must not branch on it
    if not asked and not (Automatic.SYNC in func.automatic and grid_times(func, target).is_dealt):
        return func
    if Automatic.SYNC not in func.automatic:
        return replace(func, remarks=(*func.remarks, _ordered_by_hand(func)))
    for op in walk_ops(func.launch.body):
        if op.opdef.effect is Effect.SYNC_ALL and op.opdef.among is not Among.BLOCK:
            raise KernelError(
                "persistent",
                f"{op.opdef.name} waits for all blocks of the grid, but a core does them one after "
                f"the other: there are {'more' if count is None else count} blocks, and {cores} "
                "cores",
                op.loc,
                "launch at most as many blocks as there are cores",
            )
    launched: Expr = Const(cores) if count is not None else minimum(grid, Const(cores))
    names, dtype = FreeNames.of(func), func.launch.block.dtype
    core, wave = (Var(names.fresh(name), dtype) for name in ("core", "wave"))
    return func.with_body(_dealt(func, grid, cores, core, wave), blocks=launched, block=core)


def _dealt(func: Func, grid: Expr, cores: int, core: Var, wave: Var) -> Body:
    """A loop over the blocks of a core, which ends where there are no more. A minimum bounds the
    number of the block for interval analysis; a branch would not bound it for the order between
    cores."""
    launch = func.launch
    count = constant_value(grid)
    number = wave * cores + core
    waves = ceildiv(grid - core, Const(cores))
    if count is not None and count % cores == 0:
        waves = Const(count // cores)
    elif count is not None:
        number = minimum(number, Const(count - 1))
    body = (Let(launch.block, number, launch.loc), *launch.body)
    kind, stages = _how(launch.body)
    return (For(wave, Const(0), waves, kind, body, launch.loc, stages),)


def _how(body: Body) -> tuple[LoopKind, int]:
    if len(set(_cores(body))) < 2:
        return LoopKind.PIPELINED, STAGES
    return LoopKind.SERIAL, 0


def _cores(body: Body) -> Iterator[Core]:
    """The kinds of core that have work."""
    for stmt in walk(body):
        match stmt:
            case Section(core=core):
                yield core
            case Op() if (core := core_of(stmt)) is not Core.EITHER:
                yield core


def _ordered_by_hand(func: Func) -> Diagnostic:
    return Diagnostic(
        "persistent",
        "the blocks of the grid are launched one by one: this kernel orders its pipes by hand, and "
        "its flags end with a block",
        func.launch.loc,
        "leave the order to the compiler (`tl.ascend_auto_sync`), or loop with T.Persistent",
        "warning",
    )
