"""What documents say is not there is not there, and nothing else says so: each such sentence stands
in a table with the question that tells whether it still holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import generate
import pytest
from pages import op_examples, source_map
from run_blocks import ROOT

import tile_frontend as T
from tile_codegen_ascendc import CODE_GENERATOR, emit
from tile_ir import DEFAULT_TARGET, DTYPES, OPS, TARGETS, Automatic, Func
from tile_passes import PassOptions, run_pipeline

# Words by which a sentence says that something is missing.
MISSING = re.compile(r"\bnot (?:here )?yet\b|\bnothing yet\b|\bno pass yet\b|\btoday\b", re.I)


def source(func: Func) -> str:
    """The emitted C++ without places."""
    options = PassOptions(automatic=frozenset({Automatic.SYNC}))
    text = emit(run_pipeline(func, DEFAULT_TARGET, options).func, DEFAULT_TARGET)
    return re.sub(r" *// .*", "", text)


def laid_out(layout: Callable[..., object] | None) -> Func:
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((64, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            if layout is not None:
                T.annotate_layout({a: layout(a)})
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                T.copy(c, C)

    return kernel


def layouts_change_nothing() -> bool:
    return source(laid_out(T.make_nz_layout)) == source(laid_out(None))


def no_small_floats_and_no_code_for_a5() -> bool:
    cores = {t.ai_core for t in TARGETS.values() if t.architecture == "A5"}
    return not any("float8" in name for name in DTYPES) and not cores & CODE_GENERATOR.ai_cores


def only_a_device_can_tell() -> bool:
    return True


CLAIMS: tuple[tuple[str, str, Callable[[], bool]], ...] = (
    (
        "README.md",
        "Nothing here has run on an NPU yet.",
        only_a_device_can_tell,
    ),
    (
        "docs/use/coming_from_tilelang.md",
        "8-bit floats and code for A5 chips are not here yet: the compiler checks kernels for them and"
        " emits none.",
        no_small_floats_and_no_code_for_a5,
    ),
    ("docs/internals/index.md", "it is kept and changes nothing yet", layouts_change_nothing),
)


def words(path: Path) -> str:
    """A page without its blocks, in one line of single spaces."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("page", "sentence", "holds"), CLAIMS, ids=lambda v: getattr(v, "__name__", "")
)
def test_what_is_said_to_be_missing_is(page: str, sentence: str, holds: Callable[[], bool]) -> None:
    assert sentence in words(ROOT / page), "the page no longer says so: take it off the table"
    assert holds(), f"{page} is out of date: {sentence}"


def test_nothing_else_is_said_to_be_missing() -> None:
    found = []
    for path in sorted({*generate.written_pages(), *(generate.DOCS / n for n in generate.PAGES)}):
        page = path.relative_to(ROOT).as_posix()
        text = words(path)
        for claimed, sentence, _ in CLAIMS:
            text = text.replace(sentence, "") if claimed == page else text
        text = text.replace("## Not here yet", "").replace("`not-lowered-yet`", "")
        found += [
            f"{page}: …{text[max(0, m.start() - 60) : m.end() + 40]}…"
            for m in MISSING.finditer(text)
        ]
    assert found == [], "show it in CLAIMS, with the question that decides, or say it otherwise"


def test_sections_of_what_is_missing_say_nothing_unproved() -> None:
    for page in {page for page, _, _ in CLAIMS}:
        text = words(ROOT / page)
        for section in re.findall(r"## Not here yet (.*?)(?= ## |$)", text):
            for claimed, sentence, _ in CLAIMS:
                section = section.replace(sentence, "") if claimed == page else section
            assert section.strip() == "", page


def test_pages_name_no_section_of_what_is_not_here() -> None:
    """The sources refer to the contract by section; pages are read without it."""
    pages = {*generate.written_pages(), *(generate.DOCS / n for n in generate.PAGES)}
    assert [p.name for p in pages if re.search(r"\bsection \d", p.read_text())] == []


@pytest.mark.parametrize("name", ["pipe_barrier", "barrier_all", "sync_all"])
def test_every_operation_becomes_something(name: str) -> None:
    assert op_examples.op_example(OPS[name]).becomes[0].startswith("AscendC::")


def test_the_page_of_the_language_has_no_empty_block() -> None:
    assert not re.search(
        r"^```\w+\n\s*```$", (generate.DOCS / "language/reference.md").read_text(), re.M
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("What may stand after `for ... in`: loops as data, and more. Then.", "What may stand after `for ... in`: loops as data, and more"),
        ("One. Two.", "One"),
        ("first, first + 1, ...", "first, first + 1, ..."),
        ("A list:\n\nof things", "A list"),
    ],
)  # fmt: skip
def test_sentences_of_the_map_are_whole(text: str, sentence: str) -> None:
    assert source_map.first_sentence(text) == sentence
