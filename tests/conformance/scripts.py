"""Which files of a checkout are scripts to run, with which arguments, and which can not be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tile_frontend._dialects.porting import porting_list

# Files that are parts of other scripts or of a build.
MODULES = (
    "*/__init__.py",
    "*_golden.py",
    "*/utils.py",
    "*/moe_token_utils.py",
    "*/setup.py",
    "sparse_flash_attention/bench_sfa/sparse_flash_attn_pa*.py",
    "flash_attention/fa_opt/plot.py",
    "flash_attention/fa_opt/run.py",
    "linear_attention_and_rnn/*/gdn/__init__.py",
)

# Scripts no machine without an NPU can run, by what they need.
NEEDS_NPU = {
    "shmem/*": "several processes with remote memory (ACL SHMEM)",
    "dispatch_combine/*": "several processes with remote memory (ACL SHMEM)",
    "torch_tl_ascend/*": "an extension of torch built with torch_npu's headers",
    "gemm_aot/test_*": "a library built by bisheng beforehand",
    "gemm/example_gemm_fp8_pto.py": "fp8, which only the A5 family has",
}

_BENCH = "sparse_flash_attention/bench_sfa/bench_sfa.py"
# Arguments of scripts that test nothing without them.
ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    # One kernel of several is tested per run; these four are upstream's own list.
    _BENCH: (
        ("--file", "sparse_flash_attn_pa"),
        ("--file", "sparse_flash_attn_pa_baseline"),
        ("--file", "sparse_flash_attn_pa_developer"),
        ("--file", "sparse_flash_attn_pa_no_cv_pipeline"),
    ),
}
# Scripts that say by their exit code alone that they are right (docs/language/index.md#kernel-objects); the
# second prints a source and runs nothing.
EXIT_CODE_COUNTS = (_BENCH, "gemm_aot/example_gemm.py")


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a script; `name` is its path below `examples`. `sizes` are limits of the numbers
    it names, where it is run by the driver of `reduced`; `port` is what it must change first;
    `defect` what is wrong with it on every machine."""

    name: str
    path: Path
    arguments: tuple[str, ...] = ()
    needs: str = ""
    sizes: tuple[str, ...] | None = None
    port: str = ""
    defect: str = ""

    @property
    def title(self) -> str:
        return " ".join((self.name, *self.arguments))


def tasks(examples: Path, only: str = "*") -> Iterator[Task]:
    """Every run whose title fits the pattern, in order of their names."""
    for path in sorted(examples.rglob("*.py")):
        name = path.relative_to(examples).as_posix()
        needs = next((why for glob, why in NEEDS_NPU.items() if fnmatch(name, glob)), "")
        if not needs and any(fnmatch(name, glob) for glob in MODULES):
            continue
        if needs and any(fnmatch(name, glob) for glob in MODULES[:5]):
            continue
        for arguments in ARGUMENTS.get(name, ((),)):
            task = Task(name, path, arguments, needs)
            if fnmatch(task.title, only) or fnmatch(task.name, only):
                yield task


# Limits of numbers that scripts for GPUs name, where those of `reduced` do not fit.
SIZES = {
    "*/example_gemm.py": ("m=1024", "n=1024", "k=1024"),
    "online_softmax/*": ("m=512", "n=8192"),
    "dsa_sparse_finetune/sparse_mla_fwd.py": ("topk=128", "h=64", "s=512"),
    "dsa_sparse_finetune/sparse_mla_topk_reducesum.py": ("s=1168",),
    "dsa_sparse_finetune/indexer_bwd.py": ("s=1088",),
    "*/sparse_mla_*": ("topk=128", "h=64"),
    "deepseek_mla/*": ("heads=64", "h_q=64"),
    "convolution/*": ("h=16", "w=16", "c=64", "n=1"),
    "deepseek_nsa/benchmark/*": ("warmup=1", "iterations=1"),
    "linear_attention/example_linear_*": ("b=1", "h=4"),
    "kda/chunk_intra_token_parallel.py": ("b=1", "h=4", "s=64"),
    "kda/*": ("b=1", "h=4"),
    "gdn/*": ("b=1", "h=4"),
    "amd/*": ("heads=2",),
    "*/example_mamba_*": ("heads=8",),
}


# Scripts of TileLang that are wrong on every machine, and how.
DEFECTS = {
    "gdn/example_chunk_delta_h.py": "without a first state `b_h_shared` is read before it is written",
    "gdn/example_chunk_o_bwd.py": "takes the gate of the last token as 0 (`G_last_local`), and where "
    "gates are not sums, as its own are, tokens read later ones",
}


def sizes_of(name: str) -> tuple[str, ...]:
    """The limits of a script's numbers, as `NAME=NUMBER`."""
    return next((found for glob, found in SIZES.items() if fnmatch(name, glob)), ())


def gpu_tasks(examples: Path, only: str = "*") -> Iterator[Task]:
    """Every script that launches a kernel in the dialect of TileLang for GPUs, in order."""
    for path in sorted(examples.rglob("*.py")):
        name, text = path.relative_to(examples).as_posix(), path.read_text(errors="replace")
        if "T.Kernel" not in text or not fnmatch(name, only):
            continue
        stops = [n for n in porting_list(ast.parse(text)) if n.outcome == "error"]
        port = f"line {stops[0].line}: {stops[0].name}: {stops[0].says}" if stops else ""
        yield Task(name, path, sizes=sizes_of(name), port=port, defect=DEFECTS.get(name, ""))
