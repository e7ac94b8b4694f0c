"""How rows are dealt out to cores: in blocks, one core's after the other's. Registers no kernel."""

import tile_frontend as T

CORES, ROWS = 24, 16


def row_blocks(rows: T.int32, core: T.int32) -> T.int32:
    """How many blocks a core has."""
    return T.ceildiv(T.ceildiv(rows, ROWS) - core, CORES)


def first_row(block: T.int32, core: T.int32) -> T.int32:
    """Where one of its blocks begins."""
    return (block * CORES + core) * ROWS
