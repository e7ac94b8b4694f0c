"""`tvm.transform.PassContext`: pass configs for the kernels lowered inside a `with` block.

Generators of source use it around `lower`, which takes no `pass_configs` in tilelang; `jit` and
`compile` have theirs, and what surrounds them means nothing to them
(docs/language/index.md#entry-points).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any

from tile_ir import KernelError


class PassContext:
    """The configs of a block. `disabled_pass`, `required_pass` and `instruments` concern passes
    of another compiler; `opt_level` is what that compiler's says."""

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[Any, Any] | None = None,
    ) -> None:
        if config is not None and not isinstance(config, Mapping):
            raise KernelError(
                "pass-config", f"PassContext: config is {config!r}, expected a dict of pass configs"
            )
        self.opt_level = opt_level
        self.config: dict[Any, Any] = dict(config or {})
        self._outer: list[Token[PassContext | None]] = []

    def __enter__(self) -> PassContext:
        self._outer.append(_CURRENT.set(self))
        return self

    def __exit__(self, *raised: object) -> None:
        _CURRENT.reset(self._outer.pop())

    @staticmethod
    def current() -> PassContext:
        """The innermost context; an empty one outside of all."""
        return _CURRENT.get() or PassContext()


_CURRENT: ContextVar[PassContext | None] = ContextVar("tile_pass_context", default=None)
