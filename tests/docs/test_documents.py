"""Every document is true: blocks run and print what is shown, generated parts are current,
excerpts stand in their files, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import generate
import pytest
import slugs
from pages import kernel_times, language, legality, op_examples, source_map
from pages.markdown import anchors
from run_blocks import ROOT, BlockError, blocks, run_document

import tile_frontend as T
from tile_frontend._symbols import NAMES
from tile_ir import OPS
from tile_ir.switches import SWITCHES
from tile_passes import PASSES
from tile_runtime.tools.command_line.ops import language_name

CHECKED = [*(generate.DOCS / name for name in generate.PAGES), *generate.written_pages()]
PAGES = [*CHECKED, *(generate.DOCS / name for name in generate.MEASURED_PAGES)]
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
# What means something only where the project is written.
FORBIDDEN = re.compile(
    r"/work/|/tmp/|/root/|\bsessions?\b|pypi|index-url|pythonhosted|mirror|(?<!language\.)\bproxy\b",
    re.I,
)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(params=PAGES, ids=name)
def page(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.mark.parametrize("page", CHECKED, ids=name)
def test_page_is_current(page: Path) -> None:
    """Generated parts come from the sources of today, and outputs are what the blocks print."""
    assert generate.current_text(page) == page.read_text(), "run `make docs`"


@pytest.mark.exhaustive
def test_measured_pages_are_current() -> None:
    for file, text in generate.kernel_files().items():
        assert text == (generate.DOCS / file).read_text(), f"{file}: run `make docs`"


def test_every_developer_example_is_measured() -> None:
    """At a size of its own, on a page that has a row and pictures for it."""
    page = (generate.DOCS / "use/kernels.md").read_text()
    scripts = {p.stem for p in kernel_times.FOLDER.glob("*.py")}
    assert {c.script for c in kernel_times.CASES} == scripts
    pictures = re.findall(r"!\[[^\]]*\]\(\.\./([^)]+)\)", page)
    assert len(pictures) == 2
    for case in kernel_times.CASES:
        row = f"| [{case.name}](../../examples/developer/{case.script}.py) | {case.size} | "
        assert row in page, f"{case.name}: run `make docs`"
        for picture in pictures:
            assert f">{case.name}</text>" in (generate.DOCS / picture).read_text(), case.name


def test_every_example_as_for_a_gpu_is_measured() -> None:
    page = (generate.DOCS / "use/kernels.md").read_text()
    scripts = {p.stem for p in kernel_times.GPU_FOLDER.glob("*.py")}
    assert {c.script for c in kernel_times.GPU_CASES} == scripts
    for case in kernel_times.GPU_CASES:
        row = f"| [{case.name}](../../examples/gpu/{case.script}.py) | {case.size} | "
        assert row in page, f"{case.name}: run `make docs`"


def test_links_lead_somewhere(page: Path) -> None:
    outside = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    wrong = []
    for match in LINK.finditer(outside):
        target, _, anchor = match["target"].partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(match["target"])
    assert not wrong


def test_excerpts_stand_in_their_files(page: Path) -> None:
    for block in blocks(page.read_text()):
        if block.action == "from":
            assert block.body in (ROOT / block.name).read_text(), block


def test_no_words_of_the_workshop(page: Path) -> None:
    assert not FORBIDDEN.findall(page.read_text())


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", generate.MEASURED_PICTURES)
def test_measured_pictures_are_current(name: str) -> None:
    made = generate.MEASURED_PICTURES[name]()
    assert [p for p, text in made.items() if (generate.DOCS / p).read_text() != text] == []


def test_words_stand_where_the_list_says() -> None:
    """Every word of the list has a name in the code, and a file that defines it."""
    page = generate.DOCS / "internals/index.md"
    named = re.findall(r"`(\w+)` in \[[^]]*\]\(([^)]+)\) \|$", page.read_text(), re.M)
    assert len(named) > 12
    definition = r"^ *(class |def |)%s\b *[(:=]"
    wrong = [
        (word, file)
        for word, file in named
        if not (page.parent / file).exists()
        or not re.search(definition % word, (page.parent / file).read_text(), re.M)
    ]
    assert not wrong


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.M)
    }
    assert named <= targets


def test_generated_pages_have_everything() -> None:
    """A generator that finds nothing would also be current, as `test_page_is_current` asks."""
    texts = {page: (generate.DOCS / page).read_text() for page in generate.PAGES}
    home = {
        o: "internals/passes.md" if o.namespace is None else "language/reference.md"
        for o in OPS.values()
    }
    assert [
        o.name for o, page in home.items() if f"### {language_name(o)}\n" not in texts[page]
    ] == []
    assert all(f"## {p}\n" in texts["internals/passes.md"] for p in PASSES)
    command_line = (generate.DOCS / "use/command_line.md").read_text()
    assert all(f"`{s.variable}`" in command_line for s in SWITCHES.values())


def test_the_map_has_every_package() -> None:
    """Each folder with its own line, which opens with a sentence."""
    folders = source_map.folders()
    assert {f.relative_to(ROOT).parts[1] for f in folders} == set(source_map.PACKAGES)
    assert [f for f in folders if not source_map.sentence(f)] == []


def test_every_name_of_the_language_has_a_place() -> None:
    assert set(NAMES) - language.covered() == set()
    text = (generate.DOCS / "language/reference.md").read_text()
    named = (
        {f"T.{n}" for n in NAMES}
        | {f"T.{n}" for n in T._HOST_NAMES}
        | {f"T.tile.{n}" for n in dir(T.tile)}
    )
    assert [n for n in sorted(named) if f"`{n}`" not in text and f"### {n}\n" not in text] == []


def test_every_name_says_what_it_is() -> None:
    assert [n for n, v in NAMES.items() if not v.__doc__] == []


def test_every_rule_says_what_it_demands() -> None:
    silent = {o.name: r.__name__ for o in OPS.values() for r in legality.rules(o) if not r.__doc__}
    assert silent == {}


def test_every_name_of_kernels_has_a_line() -> None:
    names = [f"T.{n}" for group in language.GROUPS.values() for n in group]
    assert [n for n in names if not language.lines_with(n)] == []


def test_an_operation_that_is_written_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example counts only if the kernel of the golden comes back from it."""
    monkeypatch.setattr(op_examples, "call", lambda op: "T.tile.sub(u0, u1, u2)")
    with pytest.raises(op_examples.FalseExample, match=r"add.tir: no line"):
        op_examples.op_example.__wrapped__(OPS["add"])


def test_statements_keep_their_blocks() -> None:
    source = "  f();  // kernel.py:2\n  if (x) {  // kernel.py:3\n    g();  // kernel.py:3\n  }\n  h();\n"
    assert op_examples.statements(source, 3) == ["if (x) {", "  g();", "}"]


def test_slugs_of_rules_are_found() -> None:
    known = legality.known_slugs()
    assert legality.slugs_of(legality.rules(OPS["cast"]), known) == [
        "cast-mode",
        "cast-pair",
        "odd-elements",
        "shape-mismatch",
    ]


def test_slugs_are_found_in_every_form(tmp_path: Path) -> None:
    module = tmp_path / "packages" / "x" / "src" / "tile_x" / "m.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        'raise KernelError("one", f"a {b} c", loc)\n'
        'raise IRError(slug="two", message="d" + "e")\n'
        'Problem("three" if x else "four", "m")\n'
        "def fail(self, node, slug, message):\n    raise BuildError(slug, message)\n"
        'self.fail(node, "five", "n")\n'
        "raise KernelError(slug, message)\n"
    )
    found = [(u.slug, u.error, u.message) for u in slugs.uses(tmp_path)]
    assert found == [
        ("one", "KernelError", "a … c"),
        ("two", "IRError", "de"),
        ("three", "KernelError, IRError", "m"),
        ("four", "KernelError, IRError", "m"),
        ("five", "BuildError", "n"),
    ]


def test_every_slug_the_tests_expect_is_listed() -> None:
    """The scan misses none of those that tests of the language know."""
    listed = {use.slug for use in slugs.uses(ROOT)}
    expected = {
        slug
        for path in (ROOT / "tests" / "frontend" / "errors").glob("*.py")
        for slug in re.findall(r"# +\^ ([a-z-]+): ", path.read_text())
    }
    assert expected and expected <= listed


def test_blocks_run_in_one_folder_and_show_their_output() -> None:
    text = (
        "```python file a.py\nx = 2\n```\n```python run\nfrom a import x\nprint(x)\n```\n"
        "```text output\nold\n```\n```sh\nfalse\n```\n```sh run\necho no >&2; exit 3\n```\n"
        "```text error\n```\n"
    )
    assert run_document(text, "t") == text.replace("old\n", "2\n").replace(
        "```text error\n", "```text error\nno\n"
    )


def test_a_block_that_fails_is_told() -> None:
    with pytest.raises(BlockError, match="exit code 3 of\nexit 3"):
        run_document("```sh run\nexit 3\n```\n", "t")
