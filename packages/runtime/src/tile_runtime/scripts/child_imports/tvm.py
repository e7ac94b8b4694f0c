"""Puts what scripts written for tilelang import in the place of this module, under its name too."""

from __future__ import annotations

from tile_runtime.scripts.module import provide_imports

provide_imports()
