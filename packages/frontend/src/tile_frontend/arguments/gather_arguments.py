"""`T.tile.gather_mask` with a pattern or a buffer of indices, and `T.tile.gathermask_experiment`,
whose strides come as a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.counted_call import region_of
from tile_frontend.arguments.first_elements import first_elements
from tile_frontend.arguments.op_functions import OpFunction, build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import describe, python_number
from tile_frontend.tracing.values import Pending
from tile_ir import OPS

STRIDES = ("blkStride", "repeat", "srcRepStride", "patRepStride")


class GatherMaskFunction(OpFunction):
    """A pattern string keeps elements; a buffer in its place holds the indices of elements. With a
    number, as in earlier versions, the indices of so many (value, index) pairs are kept."""

    def __init__(self) -> None:
        super().__init__(OPS["gather_mask"])
        self.buffers = len(self.parameters)

    def build(self, given: dict[str, Any]) -> Pending:
        pattern = given["pattern"]
        count = python_number(pattern)
        if isinstance(count, int):
            given = {**given, **_first_indices(given, count)}
        if isinstance(given["pattern"], str):
            return build_op(self.opdef, given, self.__name__)
        indexed = {"dst": given["dst"], "src": given["src"], "index": pattern}
        return build_op(OPS["gather_elements"], indexed, self.__name__)


def _first_indices(given: dict[str, Any], count: int) -> dict[str, Any]:
    src = region_of(given["src"])
    pairs = None if src is None else first_elements(src, 2 * count)
    if pairs is None:
        raise Fault(
            "count-range",
            f"gather_mask: src does not hold {count} pairs one behind the other",
            'a pattern like "P1010" keeps every second element',
            "pattern",
        )
    return {"src": pairs, "pattern": "P1010"}


@described(OPS["gathermask_experiment"])
def gathermask_experiment(
    dst: Any, src: Any, patternBuf: Any, reduceMode: Any, mask: Any, params: Any, rsvdCnt: Any = 0
) -> Pending:
    """Keep the elements of src whose bit in patternBuf is set."""
    if not isinstance(params, (list, tuple)) or len(params) != len(STRIDES):
        raise Fault(
            "operand-kind",
            f"gathermask_experiment: params is {describe(params)}, expected the "
            f"numbers {', '.join(STRIDES)}",
            argument="params",
        )
    if python_number(rsvdCnt) != 0:
        raise Fault(
            "operand-kind",
            f"gathermask_experiment: rsvdCnt is {describe(rsvdCnt)}, expected 0",
            "the number of kept elements is not handed back: write 0",
            "rsvdCnt",
        )
    given = {
        "dst": dst, "src": src, "patternBuf": patternBuf, "reduceMode": reduceMode, "mask": mask,
        **dict(zip(STRIDES, params, strict=True)),
    }  # fmt: skip
    return build_op(OPS["gathermask_experiment"], given, "tile.gathermask_experiment")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "gather_mask": GatherMaskFunction(),
    "gathermask_experiment": gathermask_experiment,
}
