"""The report in headless Chromium: it draws, it obeys, nothing complains and nothing sticks out."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from page_parser import Element, parse
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.timed_run import TimedRun
from timed_runs import event, example_run, made_run, many_events, small_run

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed (apt-get install chromium)"
)

# Chromium paints few frames when it only dumps the document.
FRAMES = "<script>window.requestAnimationFrame = (draw) => setTimeout(draw, 10);</script></head>"
# Waits for the page, then does what a user does and writes down what became of it.
PROBE = """
<script>
(async () => {
  const found = {};
  const frame = () => new Promise((done) => setTimeout(done, 60));
  const key = (key) => document.getElementById("chart").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const text = (id) => document.getElementById(id).textContent;
  const inked = (id) => {
    const canvas = document.getElementById(id);
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size;
  };
  while (document.documentElement.dataset.state === "loading") await frame();
  found.overflow = document.documentElement.scrollWidth - window.innerWidth;
  found.outside = [...document.querySelectorAll("main *")].filter((e) =>
    e.getBoundingClientRect().right > window.innerWidth + 1 && !e.closest(".listing, .sideways")).map((e) => e.outerHTML.slice(0, 90));
  found.colours = inked("chart");
  found.mapColours = document.getElementById("map").hidden ? 0 : inked("map");
  found.span = text("span");
  key("+"); await frame();
  found.zoomed = text("span");
  key("ArrowRight"); await frame();
  found.moved = text("span");
  document.getElementById("chart").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true, clientX: 500 })); await frame();
  found.wheeled = text("span");
  key("0"); await frame();
  found.back = text("span");
  key("."); await frame();
  found.selected = text("details");
  key("c"); await frame();
  found.cause = text("details");
  key("Escape"); await frame();
  found.cleared = text("details");
  const stall = document.querySelector("#stalls tr[tabindex]");
  if (stall) {
    stall.click(); await frame();
    found.bar = text("selected");
    found.marked = document.querySelectorAll("tr.chosen").length;
    document.getElementById("next").click(); await frame();
    found.next = text("details");
  }
  const step = document.querySelector("#critical tr[tabindex]");
  if (step) {
    step.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true })); await frame();
    found.step = text("details");
  }
  const enter = (row) => row.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  const worker = document.querySelector("#lines tbody tr[tabindex]");
  if (worker) {
    enter(worker); await frame();
    found.worker = [worker.cells[0].textContent, text("selected"), worker.classList.contains("chosen")];
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })); await frame();
    found.unselected = document.getElementById("selection").hidden;
  }
  const buffer = document.querySelector("#buffers tr[tabindex]");
  if (buffer) {
    enter(buffer); await frame();
    found.buffer = [[...buffer.cells].map((cell) => cell.textContent), text("details")];
  }
  key("Escape"); await frame();
  found.unreachable = [...document.querySelectorAll("button, select, input, a, canvas, summary, [tabindex]")].filter((e) => e.tabIndex < 0).length;
  const chart = document.getElementById("chart"), box = chart.getBoundingClientRect();
  for (let x = 130; x < box.width; x += 7) for (let y = 30; y < box.height; y += 9) {
    const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
    chart.dispatchEvent(new PointerEvent("pointermove", at));
    if (!document.getElementById("tip").hidden) { found.tip = text("tip"); x = y = 1e9; }
  }
  chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 40, clientY: box.top + 50, bubbles: true }));
  found.pipe = document.getElementById("tip").hidden ? "" : text("tip");
  const blocks = document.getElementById("blocks"), core = document.getElementById("core");
  if (blocks.options.length) {
    key("b"); key("+"); await frame();
    found.chosen = [text("span").split(" µs")[0]];
    for (const option of [0, blocks.options.length - 1]) {
      blocks.value = blocks.options[option].value;
      blocks.dispatchEvent(new Event("change")); await frame();
      found.chosen.push(text("span").split(" µs")[0]);
    }
    await new Promise((done) => setTimeout(done, 400));
    found.address = [decodeURIComponent(location.hash.replaceAll("+", " ")), blocks.value, core.selectedOptions[0]?.textContent];
  }
  found.blocks = blocks.options.length;
  found.paper = [getComputedStyle(document.body).backgroundColor];
  const theme = document.getElementById("theme");
  for (const value of ["light", "dark", ""]) {
    theme.value = value;
    theme.dispatchEvent(new Event("change")); await frame();
    found.paper.push(getComputedStyle(document.body).backgroundColor);
  }
  found.state = document.documentElement.dataset.state;
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(found);
  document.body.append(probe);
})();
</script>
</body>"""


def open_page(page: str, folder: Path, width: int, *options: str) -> tuple[str, str]:
    """What Chromium prints for the page: standard output, and its log."""
    path = folder / "report.html"
    path.write_text(page)
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=20000",
         f"--window-size={width},1600", *options, f"file://{path}"],
        capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints, "\n".join(complaints)
    return done.stdout, done.stderr


def probe(run: TimedRun, folder: Path, width: int, *options: str) -> tuple[Element, dict[str, Any]]:
    """The page after a user was there, and what he saw."""
    page = report_page(run).replace("</head>", FRAMES).replace("</body>", PROBE)
    document = parse(open_page(page, folder, width, "--dump-dom", *options)[0])
    return document, json.loads(document.one("pre", id="probe").text)


def block_shown(run: TimedRun) -> int:
    """The one that ends last."""
    return int(run.timeline.events["block"][next(run.timeline.critical_path())])


@pytest.mark.parametrize("width", [1000, 1600])
@pytest.mark.parametrize("stem", ["03_gemm_intrinsic", "05_flash_attention"])
def test_examples(stem: str, width: int, tmp_path: Path) -> None:
    run = example_run(stem)
    document, found = probe(run, tmp_path, width)
    html = document.one("html").attributes
    assert html["data-state"] == "ready" and html["data-events"] == str(len(run.timeline.events))
    assert found["overflow"] <= 0 and found["outside"] == []
    assert found["colours"] > 8 and found["mapColours"] > 5
    spans = [found[name] for name in ("span", "zoomed", "moved", "wheeled")]
    assert len(set(spans)) == 4 and float(found["back"].split()[0]) == 0.0
    # The block shown fills the drawing; the launch before it does not.
    mine = run.timeline.events[run.timeline.events["block"] == block_shown(run)]
    first, last = (t / run.timeline.mhz for t in (mine["begin"].min(), mine["complete"].max()))
    seen = [float(t) for t in spans[0].split()[0:3:2]]
    assert first - (last - first) / 20 < seen[0] <= first < last <= seen[1] + 0.01
    assert " on block " in found["selected"] and " on block " in found["cause"]
    assert found["selected"] != found["cause"] and found["cleared"] == "Nothing selected."
    stall = run.timeline.stalls()[0]
    assert f":{stall.worker_line}: " in found["bar"] and found["marked"] >= 3
    assert f"kernel.cpp:{stall.worker_line}" in found["next"]
    assert " on block " in found["step"] and " µs" in found["tip"]
    # A line of Python selects all its instructions, from the keyboard too.
    place, selected, chosen = found["worker"]
    assert selected.split(":")[0] in place and chosen and found["unselected"]
    name, memory = found["buffer"][0][1], found["buffer"][0][0]
    assert (
        memory in ("UB", "L1", "L0A", "L0B", "L0C", "BT")
        and name
        and " on block " in found["buffer"][1]
    )
    assert found["unreachable"] == 0
    assert found["pipe"].startswith(f"block {block_shown(run)} ai") and "busy " in found["pipe"]
    # Another block is shown at the same time, and the address keeps what was chosen.
    before, everything, last = found["chosen"]
    address, block, core = found["address"]
    assert before == everything and f"blocks={block}" in address and f"core={core}" in address
    assert core.startswith(f"block {block} ") and last
    assert found["blocks"] == len(set(run.timeline.events["block"])) + 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_screenshot(theme: str, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    page = report_page(small_run()).replace("<html ", f'<html data-theme="{theme}" ')
    page = page.replace(f'<option value="{theme}"', f'<option selected value="{theme}"')
    open_page(page, tmp_path, 1280, f"--screenshot={picture}")
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:]) == (1280, 1600)


@pytest.mark.parametrize("count", [0, 1])
def test_almost_nothing(count: int, tmp_path: Path) -> None:
    run = made_run([event("Add", "V", 0, 3)][:count])
    document, found = probe(run, tmp_path, 1000)
    assert document.one("html").attributes["data-events"] == str(count)
    assert found["state"] == "ready" and found["overflow"] <= 0
    assert ("Add on block 0 aiv0 V" in found["selected"]) == (count == 1)


LIGHT, DARK = "rgb(255, 255, 255)", "rgb(15, 19, 24)"


@pytest.mark.parametrize(("system", "paper"), [(1, LIGHT), (0, DARK)])
def test_colours_of_the_system_and_chosen_ones(system: int, paper: str, tmp_path: Path) -> None:
    option = f"--blink-settings=preferredColorScheme={system}"
    found = probe(small_run(), tmp_path, 1280, option)[1]
    assert found["paper"] == [paper, LIGHT, DARK, paper]


def test_errors_of_the_script_are_seen(tmp_path: Path) -> None:
    page = report_page(small_run())
    with pytest.raises(AssertionError, match="CONSOLE"):
        open_page(page.replace("start();\n", "start(); nobody();\n"), tmp_path, 1000, "--dump-dom")
    damaged = page.replace('id="columns">', 'id="columns">AAAA')
    with pytest.raises(AssertionError, match="CONSOLE"):
        open_page(damaged, tmp_path, 1000, "--dump-dom")


def test_text_of_the_user_is_text(tmp_path: Path) -> None:
    run = small_run()
    run.timeline.strings[2] = "</script><b id='broken'>"
    document, found = probe(run, tmp_path, 1000)
    assert found["state"] == "ready"
    assert not [b for b in document.all("b") if b.attributes.get("id") == "broken"]


@pytest.mark.exhaustive
def test_many_events(tmp_path: Path) -> None:
    document, found = probe(many_events(200_000), tmp_path, 1280)
    assert document.one("html").attributes["data-events"] == "200000"
    assert found["state"] == "ready" and found["blocks"] == 21
