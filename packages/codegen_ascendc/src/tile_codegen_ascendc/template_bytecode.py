"""Templates compiled once for all processes: their bytecode lies where that of modules does."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache


class TemplateBytecode(FileSystemBytecodeCache):
    """Found again for the same text of a template, compiled by the same `settings`."""

    def __init__(self, settings: object) -> None:
        super().__init__(str(Path(cache_from_source(__file__)).parent))
        self.made_by = f"{jinja2.__version__} {settings}"

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return super().get_cache_key(f"{name} {self.made_by}", filename)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Nothing if Python keeps no bytecode, or there is no room for it."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)
