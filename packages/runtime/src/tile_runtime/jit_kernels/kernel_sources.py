"""The members of a kernel object that show its sources, or what only kernels of a GPU have."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NoReturn

from tile_ir import KernelError, did_you_mean

# Texts and numbers that the compilers of GPUs make.
_OF_GPUS = ("export_ptx", "export_sass", "n_regs", "n_spills", "resource_usage", "show_ptx",
            "show_sass")  # fmt: skip
_PARTS = ("kernel", "host", "both")


class KernelSources:
    """The sources of a kernel object, as text, on standard output and in files."""

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        raise NotImplementedError

    def get_host_source(self) -> str:
        raise NotImplementedError

    @property
    def libpath(self) -> str:
        raise NotImplementedError

    @property
    def kernel_source(self) -> str:
        """The emitted source."""
        return self.get_kernel_source()

    @property
    def host_source(self) -> str:
        """The source that unpacks arguments."""
        return self.get_host_source()

    def print_source_code(self, which: str = "kernel", file: str | Path | None = None) -> None:
        """Print the sources, or write them to a file: those of the "kernel", of the "host", or
        "both"."""
        text = self._source(which)
        if file is None:
            print(text)
        else:
            Path(file).write_text(text)

    def show_source(self, which: str = "kernel") -> None:
        """Print the sources."""
        self.print_source_code(which)

    def export_sources(
        self, kernel_path: str | Path | None = None, host_path: str | Path | None = None
    ) -> None:
        """Write the sources to files."""
        if kernel_path is None and host_path is None:
            raise KernelError(
                "export-path", "export_sources has no path to write to",
                hint="give kernel_path, host_path, or both",
            )  # fmt: skip
        for path, which in ((kernel_path, "kernel"), (host_path, "host")):
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_text(self._source(which))

    def export_library(self, path: str | Path) -> None:
        """Copy the shared object to a file."""
        if Path(path).is_dir():
            what, hint = f"{str(path)!r} is a folder", "name a file in it: kernel.so"
            raise KernelError("export-path", f"export_library: {what}", hint=hint)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.libpath, path)

    def _source(self, which: str) -> str:
        if which not in _PARTS:
            raise KernelError(
                "source-part", f"a kernel has no source {which!r}",
                hint=f"one of {', '.join(map(repr, _PARTS))}",
            )  # fmt: skip
        found = {"kernel": self.get_kernel_source, "host": self.get_host_source}
        return "\n".join(text() for part, text in found.items() if which in (part, "both"))

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_GPUS:
            raise KernelError(
                "no-such-form",
                f"`{name}` is of a kernel for a GPU, and this one has no such form",
                hint="read its source with get_kernel_source(), or what its buffers take with "
                "explain_memory()",
            )
        message = f"a kernel has no `{name}`"
        if not name.startswith("_"):  # Python and libraries ask for names of their own
            near = did_you_mean(name, [n for n in dir(self) if not n.startswith("_")])
            message += f"; {near or 'call it with its tensors: kernel(x)'}"
        raise AttributeError(message)
