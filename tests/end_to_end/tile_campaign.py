"""Random kernels that do elements of tiles (`random_tile_kernels`) and products between them
(`random_product_kernels`), by Python and by the interpreter behind all passes, on a chip of two
cores, so that small grids are larger than the chip: as many as asked for from a seed on, by `make
fuzz-tiles`. Failing seeds are printed."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from end_to_end.random_block_kernels import BlockProgram
from end_to_end.random_product_kernels import product_program
from end_to_end.random_tile_kernels import tile_program
from end_to_end.test_random_element_programs import loaded
from end_to_end.text_on_arrays import Array
from tile_ir import (
    DEFAULT_TARGET,
    Const,
    Expr,
    KernelError,
    TileError,
    Var,
    constant_value,
    interpret,
    simplify,
    substitute,
)
from tile_ir.quick_dataclasses import replace
from tile_passes import run_pipeline
from tile_runtime.options.pass_configs import pass_options

CORES = 2
TARGET = replace(DEFAULT_TARGET, cube_cores=CORES, vector_cores=2 * CORES)
# Elements of a tensor: the interpreter does some thousands of them a second.
MOST_ELEMENTS = 700


def small_program(seed: int) -> BlockProgram | None:
    """The program of a number, if its tensors are small."""
    made = tile_program(seed, CORES)
    return made if made.arrays(seed)["X"].size <= MOST_ELEMENTS else None


def outcome(made: BlockProgram, seed: int, folder: Path) -> str:
    """`right`, the slug of a refusal, or what is wrong."""
    file = folder / f"tile_kernel_{seed}.py"
    file.write_text(made.text)
    given = made.arrays(seed)
    expected = {n: a.copy() for n, a in given.items()}
    made.run(expected)
    try:
        func = run_pipeline(loaded(file).kernel, TARGET, pass_options({})).func
    except KernelError as error:
        return error.slug
    types = {n: dtype for n, (_, dtype) in made.shapes.items()}
    arguments = [_stored(a, types[n]) for n, a in given.items()]
    sizes = {symbol: Const(made.sizes[symbol.name]) for symbol in func.symbols}
    rooms = [
        np.zeros([_size(d, sizes) for d in p.shape], p.dtype.storage)
        for p in func.tensors[len(arguments) :]
    ]
    try:
        with np.errstate(all="ignore"):
            interpret(func, [*arguments, *rooms], target=TARGET)
    except TileError as error:
        return f"wrong: seed {seed}: {error}"
    pairs = zip(given, arguments, strict=True)
    wrong = [n for n, a in pairs if not np.array_equal(_read(a, types[n]), expected[n])]
    return f"wrong: seed {seed}: {', '.join(wrong)}" if wrong else "right"


def _size(dim: Expr, sizes: Mapping[Var, Expr]) -> int:
    return int(constant_value(simplify(substitute(dim, sizes))) or 1)


def _stored(array: Array, dtype: str) -> Array:
    """The words of a tensor; those of bfloat16 are the upper halves of float32."""
    return (array.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else array.copy()


def _read(array: Array, dtype: str) -> Array:
    return (array.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else array


def main(runs: int, seed: int) -> int:
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + runs):
            for kind, made in (
                ("tiles", small_program(number)),
                ("products", product_program(number)),
            ):
                found = outcome(made, number, Path(folder)) if made is not None else "large"
                if found.startswith("wrong"):
                    print(kind, found, flush=True)
                ended[found.partition(":")[0]] += 1
    print(dict(ended.most_common()))
    return 1 if ended["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
