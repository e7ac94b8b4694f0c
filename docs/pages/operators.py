"""docs/use/operators.md: the operators of examples/operators, from their manifests and a run of
each at its workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pages.markdown import cell, table

if TYPE_CHECKING:
    from pages.operator_times import MeasuredOperator

HEAD = """\
<!-- Measured by docs/generate.py: `python docs/generate.py use/operators.md` runs every operator on
the time model, which takes half an hour, and writes this page anew. -->

# Operators to take

[examples/operators](../../examples/operators) has the kernels of a transformer as operators of
torch, under one namespace:

```python
import sys

sys.path.append("examples/operators")
import tile_ops
import torch

x, weight = torch.randn(8, 256), torch.randn(256)
y = torch.ops.tile_ops.rms_norm(x, weight, 1e-6)
```

They trace, compile (`torch.compile`) and, where the table says so, differentiate. A kernel is
compiled when sizes first need it, and cached. The number of rows may change without another
compilation as long as the tiles stay the same. [llama.py](../../examples/operators/llama.py) is a
decoder of two layers by these operators, compared with torch alone, with training steps.

* **Manifests.** Each operator is one record (`manifest.py`): signature, types, rules of sizes, a
  reference in torch, a workload, the rule of its tiles. The schema, the checks of a call and the
  shapes without values come from the signature. `T` is one of the types, `...` is any sizes, and
  sizes such as `N // 2` are computed.
* **Calls.** Strided tensors are copied. A result without elements needs no kernel. A type, shape or
  size that does not fit is a `ValueError` with a hint.
* **Tiles** are chosen by a function of sizes and types, which operators of a kind share. *of best*
  is the best time of a small sweep of tiles, at a quarter of the workload, over the time with the
  chosen tiles. It is measured for some operators.
* **Times** are modelled on Ascend910B2 at a workload, with L2 empty at the start. *of roofline* is
  the least time over the modelled time. The least time is that of the part of the chip that needs
  most: operands once through HBM, products at the 16-bit peak, vector operations at 256 bytes
  a cycle.
"""
REMARKS = """\
## Below a quarter of the roofline

"""
LIMITS = """\
## Limits

* Norms, softmax, quantising and running sums hold whole rows in a tile: each has a limit of
  columns, which its error names. Cross entropy has none.
* Values between are float32. Gradients of weights are added up in float32 and in one order, so that
  two runs give the same bits.
* The gradient of `gather_rows` adds rows up by torch. `vmap` is an error of torch.
* Through the logarithms of sums that `cross_entropy` returns passes no gradient: they require none.
  Those of `attention` have one.
* A label that is negative, or not a column, has loss 0 and no gradient. An index that is not a row
  gives a row of zeros.
"""


def operator_files() -> dict[str, str]:
    """The page by its path below docs/."""
    from pages.operator_times import measured_operators  # registers the operators

    return {"use/operators.md": operators_page(list(measured_operators()))}


def operators_page(measured: Iterable[MeasuredOperator]) -> str:
    all_of_them = list(measured)
    forward = [m for m in all_of_them if not m.operator.gradient_of]
    backward = [m for m in all_of_them if m.operator.gradient_of]
    slow = [m for m in all_of_them if m.roofline.share < 0.25]
    remarks = [f"* `{m.operator.name}`: {m.operator.remark}\n" for m in slow]
    return "\n".join(
        [
            HEAD, f"## {len(forward)} operators\n", _signatures(forward, True), "## Gradients\n",
            "What autograd calls; each is an operator too.\n", _signatures(backward, False),
            "## Times\n", _times(all_of_them),
            *([REMARKS + "".join(remarks)] if slow else []), LIMITS,
        ]
    )  # fmt: skip


def _signatures(measured: Iterable[MeasuredOperator], with_backward: bool) -> str:
    head = ("operator", "what it computes", "`T`", *(("backward",) if with_backward else ()))
    rows = (
        (
            f"`{cell(_text(m))}`", cell(o.summary).replace("*", r"\*"),
            ", ".join(o.types.get("T", ())),
            *((("yes" if o.backward else "no"),) if with_backward else ()),
        )
        for m in measured
        for o in [m.operator]
    )  # fmt: skip
    return table(head, rows)


def _text(m: MeasuredOperator) -> str:
    """The signature as the manifest has it."""
    return str(m.operator.signature)


def _times(measured: Iterable[MeasuredOperator]) -> str:
    head = ("operator", "workload", "tiles", "µs", "bound by", "of roofline", "of best")
    rows = (
        (
            f"`{m.operator.name}`", _workload(m), " x ".join(map(str, m.tiles)),
            f"{m.microseconds:.0f}", m.roofline.bound, f"{100 * m.roofline.share:.0f} %",
            "" if m.share_of_best is None else f"{100 * m.share_of_best:.0f} %",
        )
        for m in measured
    )  # fmt: skip
    return table(head, rows)


def _workload(m: MeasuredOperator) -> str:
    case = m.operator.workload
    sizes = {k: v for k, v in case.sizes.items() if k != "T"}
    rest = [f"... = {', '.join(map(str, case.rest))}"] if case.rest else []
    dtype = [str(case.sizes["T"])] if "T" in case.sizes else []
    return ", ".join([*rest, *(f"{k} = {v}" for k, v in sizes.items()), *dtype])
