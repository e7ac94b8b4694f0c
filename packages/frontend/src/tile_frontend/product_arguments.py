"""`T.gemm_v0` and `T.mma` with the arguments newer versions of the language add to them."""

from __future__ import annotations

from typing import Any

from tile_frontend.calls import OpFunction, build_op
from tile_frontend.faults import Fault
from tile_frontend.values import Pending, Scalar, Tile, View, as_python, describe, python_number
from tile_ir import OPS

LONGEST_STEP = 4095


class GemmFunction(OpFunction):
    """`kL0Size` is how far the product goes at once, which the compiler chooses. With `n_actual`
    all columns are computed, those that are not asked for too."""

    def __init__(self) -> None:
        super().__init__(OPS["gemm_v0"])
        self.parameters = (*self.parameters, "kL0Size", "n_actual")

    def build(self, given: dict[str, Any]) -> Pending:
        step = given.pop("kL0Size", None)
        number = python_number(step)
        if step is not None and not (
            isinstance(number, int) and 0 < number <= LONGEST_STEP and number % 16 == 0
        ):
            raise Fault(
                "attribute-value",
                f"gemm_v0: kL0Size is {describe(step)}, expected a multiple of 16, at most "
                f"{LONGEST_STEP}",
                "leave it out: the compiler chooses it",
                "kL0Size",
            )
        _check_columns(given.pop("n_actual", None), given["C"])
        return build_op(self.opdef, given, self.__name__)


def _check_columns(asked: Any, c: Any) -> None:
    number = python_number(asked)
    columns = _size(c, -1)
    if isinstance(number, int) and isinstance(columns, int) and not 0 <= number <= columns:
        raise Fault(
            "attribute-value",
            f"gemm_v0: n_actual is {number}, but C has {columns} columns",
            argument="n_actual",
        )
    if asked is not None and number is None and not isinstance(asked, Scalar):
        raise Fault(
            "operand-kind", f"gemm_v0: n_actual is {describe(asked)}", argument="n_actual"
        )


class MmaFunction(OpFunction):
    """`unit_flag` is about time and changes nothing. Parts of the registers can not be multiplied,
    as the order of their elements depends on their size."""

    def __init__(self) -> None:
        super().__init__(OPS["mma"])
        self.parameters = (*self.parameters, "n_actual", "unit_flag", "k_actual", "bias")

    def build(self, given: dict[str, Any]) -> Pending:
        given.pop("unit_flag", None)
        for name, dim in (("n_actual", -1), ("k_actual", -2)):
            asked, have = given.pop(name, None), _size(given["B"], dim)
            if asked is not None and python_number(asked) != have:
                raise Fault(
                    "unsupported-argument",
                    f"mma: {name} is {describe(asked)}, but B has {describe(have)}",
                    "matrices in l0a, l0b and l0c are used whole: allocate them in the size that "
                    "is multiplied, or let T.gemm_v0 see to them",
                    name,
                )
        if given.pop("bias", None) is not None:
            raise Fault(
                "unsupported-argument",
                "mma: bias is not supported",
                "add it with T.tile.add behind the product",
                "bias",
            )
        return build_op(self.opdef, given, self.__name__)


def _size(matrix: Any, dim: int) -> Any:
    match matrix:
        case Tile() | View():
            return matrix.shape[dim] if len(matrix.shape) >= -dim else None
    return as_python(matrix.expr) if isinstance(matrix, Scalar) else None


FUNCTIONS = {"gemm_v0": GemmFunction(), "mma": MmaFunction()}
