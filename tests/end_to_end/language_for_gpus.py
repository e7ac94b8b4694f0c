"""The language under the name of the module that scripts for GPUs import."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import tile_frontend


class _AsScriptsImportIt(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(tile_frontend, name)


T = _AsScriptsImportIt("tilelang.language")
