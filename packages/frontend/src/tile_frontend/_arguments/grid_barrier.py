"""Build `T.sync_grid`, at which all blocks of a launch meet."""

from __future__ import annotations

from tile_frontend._arguments.build_op import build_op
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import OPS


def sync_grid() -> Pending:
    """`T.sync_all`, as scripts for GPUs write it: every core of the launch waits for all others,
    which is possible only where all blocks run at a time."""
    check_all_blocks_run("T.sync_grid")
    return build_op(OPS["sync_all"], {}, "sync_grid")


def check_all_blocks_run(what: str) -> None:
    """Raise a Fault where a statement would wait for blocks of the launch that have not begun."""
    trace = current(what)
    blocks = None if trace.header is None else trace.known_number(trace.header.blocks)
    if blocks is None or blocks > trace.target.cube_cores:
        found = "a number of blocks that calls decide" if blocks is None else f"{blocks} blocks"
        message = f"{what} waits for all blocks, but the launch has {found} and the chip "
        message += f"{trace.target.cube_cores} cores: blocks run one after another"
        hint = "launch as many blocks as there are cores, each of which loops over its tiles, or "
        raise Fault("sync-grid", message, f"{hint}write a second `with T.Kernel` in its place")
