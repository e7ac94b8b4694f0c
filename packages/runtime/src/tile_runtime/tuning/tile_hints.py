"""Tile sizes worth trying for a matrix product: what fits the memories of a chip, best guess first.

`MatmulTemplate(M, N, K, ...).with_arch(Ascend()).recommend_hints(20)`; a hint has `block`, the
rows and columns of a tile of the result, and `rstep`, the step along K.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tile_ir import (
    BOOL,
    FLOAT32,
    OPS,
    Buffer,
    Const,
    DType,
    KernelError,
    Loc,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Target,
    dtype_of,
)
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.jit_kernels.compile_options import CompileOptions, resolve_target

# Tiles of this many rows and columns: multiples of a fractal, up to what L0C holds.
_ROWS = (16, 32, 64, 96, 128, 192, 256)
_STEPS = (32, 64, 128, 256, 512)
# Operands are loaded while the ones before are worked on.
_BUFFERS = 2
_ACCUMULATOR_BYTES = 4
# Where the operations are that are only asked what they cost.
_NOWHERE = Loc("tile_hints", 0, 0)


@dataclass(frozen=True)
class Ascend:
    """The chip hints are for; the one the switch `soc` names unless another is given."""

    target: Target = field(default_factory=lambda: resolve_target(CompileOptions()))

    @property
    def name(self) -> str:
        return self.target.name


@dataclass(frozen=True)
class Hint:
    """One proposal."""

    block: list[int]
    rstep: list[int]
    microseconds: float

    def __repr__(self) -> str:
        return f"Hint(block={self.block}, rstep={self.rstep})"


@dataclass(frozen=True)
class MatmulTemplate:
    """The product of an M by K and a K by N matrix."""

    M: int
    N: int
    K: int
    in_dtype: str = "float16"
    out_dtype: str = "float16"
    accum_dtype: str = "float32"
    arch: Ascend | None = None

    def with_arch(self, arch: Ascend) -> MatmulTemplate:
        """The same for a chip."""
        return replace(self, arch=arch)

    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        """At most `topk` tiles. Those that divide the matrices come first, so that scripts that
        count tiles with `//` work; then the shorter estimate, then the larger step.

        Raises KernelError for an element type that does not exist.
        """
        target = (self.arch or Ascend()).target

        def rank(hint: Hint) -> tuple[bool, float, int]:
            (m, n), (k,) = hint.block, hint.rstep
            divides = not (self.M % m or self.N % n or self.K % k)
            return not divides, hint.microseconds, -k

        return sorted(self._fitting(target), key=rank)[:topk]

    def _fitting(self, target: Target) -> Iterator[Hint]:
        dtype = self._element_type()
        size = dtype.size
        for m in _upto(_ROWS, self.M):
            for n in _upto(_ROWS, self.N):
                if m * n * _ACCUMULATOR_BYTES > target.capacity[Memory.L0C]:
                    continue
                for k in _upto(_STEPS, self.K):
                    if _BUFFERS * (m + n) * k * size <= target.capacity[Memory.L1]:
                        yield Hint([m, n], [k], self._estimate(m, n, k, dtype, target))

    def _element_type(self) -> DType:
        found = dtype_of(self.in_dtype)
        if found is None or not found.whole_bytes:
            raise KernelError(
                "unknown-dtype", f"{self.in_dtype!r} is not an element type of a matrix"
            )
        return found

    def _estimate(self, m: int, n: int, k: int, dtype: DType, target: Target) -> float:
        """Microseconds: waves of tiles over the cores, each as long as its slower half, the
        products or the loads. All cores load at a time."""
        together = Assumed(cores=target.cube_cores)

        def busy(name: str, *operands: Operand) -> float:
            attrs = tuple(False if a.type is bool else None for a in OPS[name].attrs)
            return cost(Op(OPS[name], operands, attrs, _NOWHERE), target, together).busy

        a, b = _tile(Memory.L1, m, k, dtype), _tile(Memory.L1, k, n, dtype)
        c = _tile(Memory.L0C, m, n, FLOAT32)
        products = busy("gemm_v0", a, b, c, Const(True, BOOL))
        loads = busy("copy_gm_l1", _part(self.M, self.K, m, k, dtype), a)
        loads += busy("copy_gm_l1", _part(self.K, self.N, k, n, dtype), b)
        store = busy("copy_l0c_gm", c, _part(self.M, self.N, m, n, dtype))
        waves = -(-(-(-self.M // m) * -(-self.N // n)) // target.cube_cores)
        steps = -(-self.K // k)
        return waves * (steps * max(products, loads) + store) / target.clock_mhz


def _tile(memory: Memory, rows: int, columns: int, dtype: DType) -> Region:
    shape = (Const(rows), Const(columns))
    return Region.whole(Buffer("tile", memory, dtype, shape, _NOWHERE))


def _part(rows: int, columns: int, m: int, n: int, dtype: DType) -> Region:
    """A tile of m by n of a matrix in gm."""
    matrix = _tile(Memory.GM, rows, columns, dtype).buffer
    return Region(matrix, (Slice(Const(0), Const(m)), Slice(Const(0), Const(n))))


def _upto(sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The sizes that do not exceed a dimension; the smallest in any case."""
    return tuple(s for s in sizes if s <= most) or sizes[:1]
