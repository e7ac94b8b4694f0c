"""The published rows that no case stands for, each with its reason.

A row is named by its source and by what its kernel and its metric begin with. A row that has neither a case nor a
reason fails a test, and so does one that has both.
"""

from __future__ import annotations

from collections.abc import Iterable

from case import ASC, GUIDE, Row

TUNING = GUIDE + "优秀实践/Matmul性能调优案例/Matmul高阶API使能"
RECIPES = "recipes:docs/models/"

_THEORY = "a bound the page computes, not measured"
_CARDS = "several cards: tests/link_times stands for it"
_LIBRARY = "the high-level Matmul API's own scalar work, of which no source gives the instructions, is most of it"
_TILES = "the framework schedules its own tasks at run time; the page shows no tiling, cores or flow of data"
_NO_SHAPE = "the page does not say on what shape"
_OPERATORS = "several launches, and the page does not say which"
_OPERATOR = "an operator of the vendor's library; the page calls it and says nothing of its kernel"

# (source, kernel, metric), the last two as they begin, and the reason.
_REASONS = (
    (ASC + "00_vector_compute/add_high_performance/README.md", "add theory", "", _THEORY),
    (ASC + "03_fusion_compute/quant_group_matmul_high_performance/README.md", "quant group matmul theory", "", _THEORY),
    ("asc:docs/zh/api/SIMD-API/基础API/矩阵计算（ISASI）/Mmad计算关键特性说明/UnitFlag.md", "Mmad", "theory", _THEORY),  # noqa: RUF001
    (TUNING + "IBShare模板共享A和B矩阵数据.md", "", "", _LIBRARY),
    (TUNING + "IBShare模板共享B矩阵数据.md", "", "", _LIBRARY),
    (TUNING + "NBuffer33模板.md", "", "", _LIBRARY),
    (TUNING + "Tiling全量常量化.md", "", "", _LIBRARY),
    (TUNING + "多核切K.md", "", "", _LIBRARY),
    (TUNING + "纯Cube模式.md", "", "", _LIBRARY),
    (GUIDE + "SIMD算子性能优化/矩阵计算/Matmul使能AtomicAdd选项.md", "", "", _LIBRARY),
    (GUIDE + "SIMD算子性能优化/头尾开销优化/避免TPipe在对象内创建和初始化.md", "", "", "the page does not say which kernel"),
    (GUIDE + "优秀实践/MC-算子性能调优案例.md", "", "", _CARDS),
    ("pto:kernels/manual/a2a3/gemm_ar/README_zh.md", "", "", _CARDS),
    ("pto:kernels/manual/a2a3/allgather_gemm/README.md", "", "", _CARDS),
    ("pto:kernels/manual/common/flash_atten/README.md", "flash attention S1=2K", "", "the page does not say how many queries and cores; one row is of the vendor's simulator"),
    ("tla:examples/linear_attention_and_rnn/README.md", "KDA/GDN total", "", "the sum of six kernels, of which four are rows of their own"),
    (RECIPES + "deepseek_v4/deepseek_v4_pypto_operator_guide.md", "pypto", "", _TILES),
    (RECIPES + "deepseek_v4/deepseek_v4_autofuse_guide.md", "hc_post eager", "", _OPERATORS),
    (RECIPES + "longcat_flash/longcat_flash_optimization.md", "longcat", "", _NO_SHAPE),
    ("recipes:docs/integration/ling-3.0-flash/bailing_v3_pypto_operator_guide.md", "fused_recurrent_kda", "", _TILES),
    ("tla:examples/sparse_flash_attention/bench_sfa/README.md", "sparse MLA AscendC", "", _OPERATOR),
    ("tla:examples/sparse_flash_attention/bench_sfa/README.md", "sparse flash attention PA pipeline", "", "its order of the two kinds of cores is made by the peer's compiler"),
)  # fmt: skip


def reasons(row: Row) -> list[str]:
    """Why a row has no case: one reason, or none if it has one."""
    return [why for *of, why in _REASONS if _belongs(row, *of)]


def unused(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Reasons that are no row's."""
    listed = list(rows)
    return [tuple(of) for *of, _ in _REASONS if not any(_belongs(row, *of) for row in listed)]


def _belongs(row: Row, source: str, kernel: str, metric: str) -> bool:
    return row.source == source and row.kernel.startswith(kernel) and row.metric.startswith(metric)
