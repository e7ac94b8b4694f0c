"""Bind `T.transpose`, whose tiles stand in the order of the dialect of the kernel."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.trace import current
from tile_ir import OPS


class TransposeFunction(OpFunction):
    """A matrix turned: `T.transpose(dst, src)`; in kernels for GPUs `T.transpose(src, dst)`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        by_place = dict(zip(("src", "dst"), args, strict=False))
        if current("transpose").python_names and not by_place.keys() & kwargs.keys():
            return super().__call__(*args[2:], **by_place, **kwargs)
        return super().__call__(*args, **kwargs)


FUNCTIONS = {"transpose": TransposeFunction(OPS["transpose"])}
