// The drawings of the page: the timeline of each pipe, and the local memories over the same time.
// Data: #contents (JSON) says what #columns (compressed numbers) holds; event_columns.py writes both.
"use strict";

const $ = (id) => document.getElementById(id);
const root = document.documentElement;
const GUTTER = 118, AXIS = 22, HEAD = 18, ROW = 20, LANE = 14, MARKS = 255, MOST_ARROWS = 80, MOST_STEPS = 300;
const FONT = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
const WORK = 0;

const data = JSON.parse($("contents").textContent);
const column = {};
const view = { from: 0, to: 1, last: 1 };
let rows = [];            // {top, height, track, lanes} or {top, height, title}
let rowOfTrack = new Map();
let event = -1;           // the selected event
let picked = new Set();   // the selected lines of source, indices of data.lines
let colours = {};
let hatches = {};
let labels = [];          // of the events drawn now
let frame = 0;

window.addEventListener("error", (e) => { root.dataset.state = `failed: ${e.message}`; });
window.addEventListener("unhandledrejection", (e) => { root.dataset.state = `failed: ${e.reason}`; });

async function unpack() {
  if (!("DecompressionStream" in window)) throw new Error("this browser can not decompress");
  const bytes = Uint8Array.from(atob($("columns").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const types = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
  for (const [name, [type, offset, count]] of Object.entries(data.columns)) {
    column[name] = new types[type](buffer, offset, count);
  }
}

// --- Numbers as text ---------------------------------------------------------------------------

const microseconds = (ticks) => ticks / data.scale / data.mhz;
const cycles = (ticks) => ticks / data.scale;

function duration(ticks) {
  const us = microseconds(ticks);
  return us >= 1 ? `${us.toFixed(2)} µs` : `${(us * 1000).toFixed(us < 0.01 ? 1 : 0)} ns`;
}

function size(bytes) {
  return bytes >= 1 << 20 ? `${+(bytes / (1 << 20)).toFixed(2)} MiB` : bytes >= 1024 ? `${+(bytes / 1024).toFixed(2)} KiB` : `${bytes} B`;
}

const fileName = (path) => path.startsWith("(") ? path : path.slice(path.lastIndexOf("/") + 1);

function place(index) {
  const [cpp, number, python, pythonLine] = data.lines[index];
  const first = cpp.startsWith("(") ? cpp : `${fileName(cpp)}:${number}`;
  return python ? `${fileName(python)}:${pythonLine}, ${first}` : first;
}

function trackName(track) {
  const [block, core, pipe] = data.tracks[track];
  return `${data.blocks[block]} ${data.cores[core]} ${data.pipes[pipe]}`;
}

function flagText(i) {
  const kind = data.kinds[column.kind[i]];
  const here = data.pipes[data.tracks[column.track[i]][2]], there = data.pipes[column.source[i]];
  if (kind === "set") return `flag ${here} to ${there}, id ${column.flag[i]}`;
  if (kind === "wait") return `flag ${there} to ${here}, id ${column.flag[i]}`;
  if (column.peer[i] && kind !== "work") return kind === "signal" ? `signal to rank ${column.peer[i] - 1}` : `waits for rank ${column.peer[i] - 1}`;
  return kind.startsWith("cross") ? `cross-core flag ${column.flag[i]}` : "";
}

// Between cores or between ranks.
const isHandover = (i) => data.kinds[column.kind[i]].startsWith("cross") || isOfRanks(i);
const isOfRanks = (i) => ["signal", "word wait", "rank barrier"].includes(data.kinds[column.kind[i]]);

function describe(i) {
  const parts = [
    `${data.strings[column.api[i]]} on ${trackName(column.track[i])}`,
    `${microseconds(column.begin[i]).toFixed(3)} to ${microseconds(column.end[i]).toFixed(3)} µs (${duration(column.end[i] - column.begin[i])}, ${cycles(column.end[i] - column.begin[i]).toFixed(0)} cycles)`,
  ];
  if (column.complete[i] > column.end[i]) parts.push(`complete at ${microseconds(column.complete[i]).toFixed(3)} µs`);
  const flag = flagText(i);
  if (flag) parts.push(flag);
  if (column.waited[i] > 0) parts.push(`waited ${column.waited[i].toFixed(0)} cycles: ${data.reasons[column.reason[i]]}`);
  if (column.slowed[i] >= 0.5) parts.push(`${column.slowed[i].toFixed(0)} cycles lost: ${data.pipes[data.tracks[column.track[i]][2]] === "V" ? "bank conflict" : column.peer[i] ? "link" : "memory"}`);
  const far = column.kind[i] === WORK && column.peer[i] ? ` of rank ${column.peer[i] - 1}` : "";
  if (column.bytes[i]) parts.push(`${size(column.bytes[i])} from or to GM${far}`);
  parts.push(place(column.line[i]));
  return parts;
}

// --- Which rows are shown ----------------------------------------------------------------------

function arrange() {
  const wanted = $("blocks").value;
  rows = [];
  rowOfTrack = new Map();
  let top = 0, core = "";
  const lanes = data.tracks.map(() => 1);
  for (const [track, lane] of data.runs) if (lane !== MARKS) lanes[track] = Math.max(lanes[track], lane + 1);
  data.tracks.forEach(([block, which], track) => {
    if (wanted !== "all" && +wanted !== block) return;
    const title = `${data.blocks[block]} ${data.cores[which]}`;
    if (title !== core) {
      rows.push({ top, height: HEAD, title });
      top += HEAD;
      core = title;
    }
    const height = lanes[track] === 1 ? ROW : lanes[track] * LANE + 4;
    const row = { top, height, track, lanes: lanes[track], runs: data.runs.filter((r) => r[0] === track) };
    rows.push(row);
    rowOfTrack.set(track, row);
    top += height;
  });
  const shown = Math.max(60, Math.min(top + AXIS, 478));
  $("chart").style.height = `${shown}px`;
  $("height").style.height = `${Math.max(0, top + AXIS - shown)}px`;
  draw();
}

// Another block: at the same time if it has anything there, so that blocks can be compared.
function chooseBlock() {
  arrange();
  const seen = rows.some(({ runs = [] }) => runs.some((run) => {
    const i = firstAfter(run, view.from, run[1] === MARKS ? column.begin : column.end);
    return i < run[2] + run[3] && column.begin[i] < view.to;
  }));
  if (!seen) lookAtShown();
  followBlock();
  remember();
}

// The memory of a core of the block that is shown, of the same kind as before.
function followBlock() {
  const block = $("blocks").value, count = data.cores.length;
  if (block === "all" || Math.floor($("core").value / count) === +block) return;
  const near = +block * count + ($("core").value % count);
  const found = [...$("core").options].map((o) => +o.value).filter((core) => Math.floor(core / count) === +block);
  if (!found.length) return;
  $("core").value = found.includes(near) ? near : found[0];
  arrangeMap();
}

// From the first instruction of the rows to the end of the last, with a little room.
function lookAtShown() {
  let from = Infinity, to = 0;
  for (const { runs = [] } of rows) for (const [, , first, count] of runs) {
    for (let i = first; i < first + count; i++) {
      from = Math.min(from, column.begin[i]);
      to = Math.max(to, column.complete[i]);
    }
  }
  const room = (to - from) / 50;
  if (to > from) look(from - room, to + room);
}

// --- Drawing -----------------------------------------------------------------------------------

function readColours() {
  const style = getComputedStyle(root);
  colours = {};
  for (const name of ["paper", "panel", "ink", "dim", "line", "row", "accent", "focus", "hatch", "wait-paper", "on-pipe", "arrow", ...data.pipes]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  hatches = { wait: hatch(1, 0), cross: hatch(1, 1), barrier: hatch(0, 1), memory: hatch(1, 0) };
}

function hatch(up, down) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.fillStyle = colours["wait-paper"];
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = colours.hatch;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    if (up) { pen.moveTo(shift, 6); pen.lineTo(shift + 6, 0); }
    if (down) { pen.moveTo(shift, 0); pen.lineTo(shift + 6, 6); }
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
}

function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  return [pen, width, height];
}

function draw() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; drawChart(); drawMap(); });
}

const scaleX = (width) => (width - GUTTER) / (view.to - view.from);

function axis(pen, width, bottom) {
  const span = microseconds(view.to - view.from);
  const rough = span / Math.max(2, (width - GUTTER) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((s) => s * power >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const k = scaleX(width);
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, width, AXIS);
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.textAlign = "left";
  pen.fillStyle = colours.dim;
  pen.fillText("µs", 6, AXIS / 2);
  for (let t = Math.ceil(microseconds(view.from) / step) * step; t <= microseconds(view.to); t += step) {
    const x = Math.round(GUTTER + (t * data.mhz * data.scale - view.from) * k) + 0.5;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, bottom);
    pen.stroke();
    if (x < width - 40) pen.fillText(t.toFixed(digits), x + 3, AXIS / 2);
  }
}

// The first event of a run that has not ended before a time; ends rise within a lane.
function firstAfter(run, time, values) {
  let low = run[2], high = run[2] + run[3];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}

function box(row, lane) {
  if (lane === MARKS) return [row.top + row.height - 8, 7];
  return row.lanes === 1 ? [row.top + 3, row.height - 6] : [row.top + 2 + lane * LANE, LANE - 1];
}

function paint(i) {
  const kind = data.kinds[column.kind[i]];
  if (kind === "work") return colours[data.pipes[data.tracks[column.track[i]][2]]];
  return kind === "wait" ? hatches.wait : kind === "cross wait" || kind === "word wait" || kind === "rank barrier" ? hatches.cross : kind.startsWith("barrier") ? hatches.barrier : colours.ink;
}

function drawChart() {
  const [pen, width, height] = prepare($("chart"));
  const scroll = $("rows").scrollTop - AXIS, k = scaleX(width);
  const visible = rows.filter((r) => r.top + r.height > scroll + AXIS - ROW && r.top < scroll + height);
  axis(pen, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, width, height - AXIS);
  pen.clip();
  pen.translate(0, -scroll);
  for (const row of visible) {
    pen.strokeStyle = colours.line;
    if (row.title) {
      pen.fillStyle = colours.panel;
      pen.fillRect(0, row.top, width, row.height);
      pen.fillStyle = colours.ink;
      pen.textAlign = "left";
      pen.fillText(row.title, 6, row.top + row.height / 2 + 1);
      continue;
    }
    pen.beginPath();
    pen.moveTo(0, row.top + row.height - 0.5);
    pen.lineTo(width, row.top + row.height - 0.5);
    pen.stroke();
    pen.fillStyle = colours.dim;
    pen.textAlign = "right";
    pen.fillText(data.pipes[data.tracks[row.track][2]], GUTTER - 8, row.top + row.height / 2);
  }
  pen.textAlign = "left";
  pen.beginPath();
  pen.rect(GUTTER, scroll, width - GUTTER, height + AXIS);
  pen.clip();
  labels = [];
  arrowNote = "";
  for (const row of visible) if (row.runs) for (const run of row.runs) drawRun(pen, row, run, k);
  if ($("arrows").checked) drawArrows(pen, k, scroll, height);
  for (const one of labels) label(pen, ...one);
  pen.globalAlpha = 1;
  if ($("path").checked) drawPath(pen, k);
  if (event >= 0 && rowOfTrack.has(column.track[event])) outline(pen, event, k, colours.focus, 3);
  pen.restore();
  pen.strokeStyle = colours.line;
  pen.strokeRect(GUTTER - 0.5, 0, 0, height);
  const digits = view.to - view.from < 10 * data.mhz * data.scale ? 3 : 2;
  $("span").textContent = `${microseconds(view.from).toFixed(digits)} to ${microseconds(view.to).toFixed(digits)} µs${arrowNote}`;
}

function drawRun(pen, row, run, k) {
  const [top, high] = box(row, run[1]);
  const marks = run[1] === MARKS;
  const end = run[2] + run[3];
  let covered = -1, coveredPaint = null;
  for (let i = firstAfter(run, view.from, marks ? column.begin : column.end); i < end; i++) {
    if (column.begin[i] > view.to) break;
    const x = GUTTER + (column.begin[i] - view.from) * k;
    const w = (column.end[i] - column.begin[i]) * k;
    const mine = picked.has(column.line[i]);
    const fill = paint(i);
    // Events narrower than a pixel share it; the selected ones are always drawn.
    if (w < 1 && Math.floor(x) === covered && (fill === coveredPaint || marks) && !mine) continue;
    covered = Math.floor(x);
    coveredPaint = fill;
    pen.globalAlpha = picked.size && !mine ? 0.3 : 1;
    pen.fillStyle = fill;
    if (marks) {
      if (column.kind[i] === WORK) { pen.fillRect(x, top, 1, high); continue; }
      const set = data.kinds[column.kind[i]].endsWith("set");
      if (!set && !mine) continue;  // a wait that did not wait
      const half = k * data.scale > 0.15 ? 4 : 1.5;
      pen.beginPath();
      pen.moveTo(x, top);
      pen.lineTo(x + half, top + high);
      pen.lineTo(x - half, top + high);
      pen.fill();
      continue;
    }
    pen.fillRect(x, top, Math.max(w, 0.7), high);
    if (w > 3) {
      pen.strokeStyle = colours.paper;
      pen.lineWidth = 1;
      pen.strokeRect(x + 0.5, top + 0.5, w - 1, high - 1);
    }
    if (mine && w > 1) outline(pen, i, k, colours.ink, 1);
    if (w > 26) labels.push([i, Math.max(x, GUTTER), Math.min(x + w, GUTTER + (view.to - view.from) * k), top + high / 2 + 0.5, pen.globalAlpha]);
  }
  pen.globalAlpha = 1;
}

// Over the arrows, which must not run through the letters; neither must hatching.
function label(pen, i, left, right, y, alpha) {
  const letters = Math.floor((right - left - 8) / 6.7);
  if (letters < 2) return;
  const kind = data.kinds[column.kind[i]];
  const name = kind === "work" ? data.strings[column.api[i]] : flagText(i).replace("flag ", "") || "barrier";
  const text = name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;
  pen.globalAlpha = alpha;
  pen.fillStyle = kind === "work" ? paint(i) : colours["wait-paper"];
  pen.fillRect(left + 2, y - 5.5, text.length * 6.7 + 4, 10);
  pen.fillStyle = kind === "work" ? colours["on-pipe"] : colours.ink;
  pen.fillText(text, left + 4, y);
}

function laneOf(i) {
  const row = rowOfTrack.get(column.track[i]);
  const run = row.runs.find((r) => i >= r[2] && i < r[2] + r[3]);
  return box(row, run[1]);
}

function outline(pen, i, k, colour, thickness) {
  const [top, high] = laneOf(i);
  const x = GUTTER + (column.begin[i] - view.from) * k;
  pen.strokeStyle = colour;
  pen.lineWidth = thickness;
  pen.strokeRect(x - 0.5, top - 0.5, Math.max(1, (column.end[i] - column.begin[i]) * k) + 1, high + 1);
}

let arrowNote = "";

// Handovers between cores come first: those inside a core are many.
function drawArrows(pen, k, scroll, height) {
  const handovers = [], flags = [];
  const seen = (i) => {
    const row = rowOfTrack.get(column.track[i]);
    return row && row.top + row.height > scroll + AXIS && row.top < scroll + height;
  };
  for (let a = 0; a < column.set.length; a++) {
    const from = column.set[a], to = column.wait[a];
    if (column.end[to] < view.from || column.begin[from] > view.to || !rowOfTrack.has(column.track[from]) || !rowOfTrack.has(column.track[to])) continue;
    if (!seen(from) && !seen(to)) continue;
    (isHandover(from) || isOfRanks(to) ? handovers : flags).push(a);
    if (handovers.length > MOST_ARROWS) { arrowNote = "; zoom in to see flags"; return; }
  }
  const fit = handovers.length + flags.length <= MOST_ARROWS;
  if (!fit) arrowNote = handovers.length ? "; zoom in to see flags inside a core" : "; zoom in to see flags";
  const shown = fit ? [...flags, ...handovers] : handovers;
  for (const a of shown) {
    const from = column.set[a], to = column.wait[a];
    pen.lineWidth = isHandover(from) || isOfRanks(to) ? 2 : 1;
    const mine = !picked.size || picked.has(column.line[from]) || picked.has(column.line[to]);
    pen.globalAlpha = mine ? 0.9 : 0.2;
    pen.strokeStyle = pen.fillStyle = event === from || event === to ? colours.focus : colours.arrow;
    const [t1, h1] = laneOf(from), [t2, h2] = laneOf(to);
    const x1 = GUTTER + (column.begin[from] - view.from) * k, x2 = GUTTER + (column.end[to] - view.from) * k;
    const y1 = t1 + h1, up = t2 < t1, y2 = up ? t2 + h2 : t2;
    const bend = Math.max(8, Math.abs(x2 - x1) / 3);
    pen.beginPath();
    pen.moveTo(x1, up ? t1 : y1);
    pen.bezierCurveTo(x1 + bend, up ? t1 : y1, x2 - bend, y2 + (up ? 12 : -12), x2, y2);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x2, y2);
    pen.lineTo(x2 - 4, y2 + (up ? 6 : -6));
    pen.lineTo(x2 + 3, y2 + (up ? 6 : -6));
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function drawPath(pen, k) {
  const seen = data.critical.filter((i) => rowOfTrack.has(column.track[i]) && column.end[i] >= view.from && column.begin[i] <= view.to);
  // Frames and lines of many short steps would cover everything; those get a stroke below.
  const lines = seen.length <= MOST_STEPS;
  let before = null;
  for (const i of seen) {
    const [top, high] = laneOf(i);
    const left = GUTTER + (column.begin[i] - view.from) * k, right = GUTTER + (column.end[i] - view.from) * k;
    if (right - left >= 4) {
      outline(pen, i, k, colours.accent, 2);
    } else {
      pen.fillStyle = colours.accent;
      pen.fillRect(left - 0.5, top + high - 1, Math.max(2, right - left), 3);
    }
    if (before && lines) {
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(before[0], before[1]);
      pen.lineTo(right, top + high / 2);
      pen.stroke();
    }
    // What an event waited for decides when a wait ends, but when work begins.
    before = [column.kind[i] === WORK ? left : right, top + high / 2];
  }
}

// --- Memory ------------------------------------------------------------------------------------

let panels = [];  // {memory, top, height, most, lives}

function arrangeMap() {
  const core = +$("core").value;
  const found = data.memories.map((name, memory) => ({ name, memory, lives: [], most: 0 }));
  for (let i = 0; i < column["life core"].length; i++) {
    if (column["life core"][i] !== core) continue;
    const panel = found[column["life memory"][i]];
    panel.lives.push(i);
    panel.most = Math.max(panel.most, column["life end"][i]);
  }
  let top = AXIS;
  panels = found.filter((p) => p.lives.length);
  for (const panel of panels) {
    panel.height = panel.name === "UB" || panel.name === "L1" ? 190 : 84;
    panel.top = top + 20;
    top = panel.top + panel.height + 6;
  }
  $("map").style.height = `${Math.max(40, top)}px`;
  $("map").hidden = !panels.length;
  $("map-empty").hidden = panels.length > 0;
  listBuffers();
  draw();
}

// The buffers of the core with their full names, which the picture has no room for.
function listBuffers() {
  const buffers = new Map();
  for (const panel of panels) for (const i of panel.lives) {
    const key = `${panel.name} ${column["life name"][i]}`;
    const found = buffers.get(key) || { panel, name: data.names[column["life name"][i]], begin: Infinity, end: 0, lives: [], unread: 0 };
    found.begin = Math.min(found.begin, column["life begin"][i]);
    found.end = Math.max(found.end, column["life end"][i]);
    found.unread += !column["life read"][i];
    found.lives.push(i);
    buffers.set(key, found);
  }
  $("buffers").parentElement.parentElement.hidden = !buffers.size;
  // From above to below as in the picture.
  const sorted = [...buffers.values()].sort((a, b) => panels.indexOf(a.panel) - panels.indexOf(b.panel) || b.begin - a.begin);
  $("buffers").replaceChildren(...sorted.map(bufferRow));
}

function bufferRow({ panel, name, begin, end, lives, unread }) {
  const row = document.createElement("tr");
  const first = column["life event"][lives[0]];
  const held = lives.reduce((sum, i) => sum + column["life last"][i] - column["life first"][i], 0);
  const texts = [panel.name, name, `${begin} to ${end}`, size(end - begin), `${lives.length}${unread ? `, ${unread} never read` : ""}`, duration(held), first >= 0 ? place(column.line[first]) : ""];
  for (const [n, text] of texts.entries()) {
    const cell = row.insertCell();
    cell.textContent = text;
    if (n > 1 && n < 6) cell.className = "number";
  }
  if (first >= 0) {
    row.tabIndex = 0;
    row.dataset.event = column.number[first];
  }
  return row;
}

function lifeBox(panel, i, k) {
  const y = (address) => panel.top + panel.height * (1 - address / panel.most);
  const x = GUTTER + (column["life first"][i] - view.from) * k;
  const bottom = y(column["life begin"][i]), top = y(column["life end"][i]);
  return [x, top, Math.max(1, (column["life last"][i] - column["life first"][i]) * k), Math.max(1, bottom - top)];
}

function drawMap() {
  if ($("map").hidden) return;
  const [pen, width, height] = prepare($("map"));
  const k = scaleX(width);
  axis(pen, width, height);
  for (const panel of panels) {
    const capacity = data.capacity[panel.name];
    pen.fillStyle = colours.panel;
    pen.fillRect(0, panel.top - 19, width, 18);
    pen.fillStyle = colours.ink;
    pen.textAlign = "left";
    pen.fillText(`${panel.name}: up to ${size(panel.most)}${capacity ? ` of ${size(capacity)} (${(100 * panel.most / capacity).toFixed(0)} %)` : ""}`, 6, panel.top - 10);
    pen.fillStyle = colours.dim;
    pen.textAlign = "right";
    pen.fillText(size(panel.most), GUTTER - 8, panel.top + 7);
    pen.fillText("0", GUTTER - 8, panel.top + panel.height - 6);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, panel.top, width - GUTTER, panel.height);
    pen.clip();
    pen.textAlign = "left";
    for (const i of panel.lives) drawLife(pen, panel, i, k, width);
    pen.restore();
    pen.strokeStyle = colours.line;
    pen.strokeRect(GUTTER + 0.5, panel.top + 0.5, width - GUTTER - 1, panel.height - 1);
  }
}

function drawLife(pen, panel, i, k, width) {
  if (column["life last"][i] < view.from || column["life first"][i] > view.to) return;
  const [x, y, w, h] = lifeBox(panel, i, k);
  const names = data.pipes.slice(1);
  const colour = colours[names[column["life name"][i] % names.length]];
  const mine = column["life event"][i] >= 0 && picked.has(column.line[column["life event"][i]]);
  pen.globalAlpha = picked.size && !mine ? 0.35 : 0.85;
  pen.fillStyle = column["life read"][i] ? colour : hatches.memory;
  pen.fillRect(x, y, w, h);
  pen.globalAlpha = 1;
  if (w > 3 && h > 3) {
    pen.strokeStyle = mine ? colours.ink : colours.paper;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  }
  const left = Math.max(x, GUTTER) + 4, room = Math.floor((Math.min(x + w, width) - left - 2) / 6.7);
  const name = data.names[column["life name"][i]];
  if (h > 11 && room >= Math.min(3, name.length)) {
    pen.fillStyle = column["life read"][i] ? colours["on-pipe"] : colours.ink;
    pen.fillText(name.length <= room ? name : `${name.slice(0, room - 1)}…`, left, y + h / 2);
  }
}

// --- Selecting ---------------------------------------------------------------------------------

function eventAt(x, y) {
  const chart = $("chart");
  const scroll = $("rows").scrollTop - AXIS, k = scaleX(chart.clientWidth);
  if (x < GUTTER || y < AXIS) return -1;
  const row = rows.find((r) => r.track !== undefined && y + scroll >= r.top && y + scroll < r.top + r.height);
  if (!row) return -1;
  const time = view.from + (x - GUTTER) / k, slack = 4 / k;
  let best = -1, bestCost = Infinity;
  for (const run of row.runs) {
    const marks = run[1] === MARKS;
    const [top, high] = box(row, run[1]);
    const inside = y + scroll >= top && y + scroll <= top + high;
    for (let i = firstAfter(run, time - slack, marks ? column.begin : column.end); i < run[2] + run[3] && column.begin[i] <= time + slack; i++) {
      const away = Math.max(0, column.begin[i] - time, time - column.end[i]);
      // A mark lies on top of what lasts, where the pointer is on it.
      const cost = away + (inside ? (marks ? -slack : 0) : marks ? 2 * slack : slack);
      if (cost < bestCost) { best = i; bestCost = cost; }
    }
  }
  return best;
}

// What a pipe is, where the pointer is on its name.
function pipeAt(x, y) {
  const at = y + $("rows").scrollTop - AXIS;
  const row = x < GUTTER && y >= AXIS && rows.find((r) => r.track !== undefined && at >= r.top && at < r.top + r.height);
  if (!row) return null;
  const [, core, pipe] = data.tracks[row.track];
  return [trackName(row.track), ...(data.pipeWords[`${data.cores[core].slice(0, 3)} ${data.pipes[pipe]}`] || [])];
}

function lifeAt(x, y) {
  const k = scaleX($("map").clientWidth);
  for (const panel of panels) {
    if (y < panel.top || y > panel.top + panel.height) continue;
    for (let j = panel.lives.length - 1; j >= 0; j--) {
      const [left, top, w, h] = lifeBox(panel, panel.lives[j], k);
      if (x >= left - 1 && x <= left + w + 1 && y >= top && y <= top + h) return panel.lives[j];
    }
  }
  return -1;
}

function describeLife(i) {
  const first = column["life first"][i], last = column["life last"][i];
  const written = column["life event"][i];
  return [
    `${data.names[column["life name"][i]]} in ${data.memories[column["life memory"][i]]}, bytes ${column["life begin"][i]} to ${column["life end"][i]} (${size(column["life end"][i] - column["life begin"][i])})`,
    `${microseconds(first).toFixed(3)} to ${microseconds(last).toFixed(3)} µs (${duration(last - first)})${column["life read"][i] ? "" : ", never read"}`,
    ...(written >= 0 ? [`written first by ${data.strings[column.api[written]]}, ${place(column.line[written])}`] : []),
  ];
}

function selectEvent(i, reveal) {
  event = i;
  picked = new Set();
  $("details").textContent = i < 0 ? "Nothing selected." : describe(i).join("; ");
  mark(i < 0 ? [] : [column.line[i]]);
  if (i >= 0 && reveal) showEvent(i);
  selectionBar();
  draw();
}

// Lines of C++, which may be those of one line of Python.
function selectLines(indices) {
  picked = new Set(indices);
  event = -1;
  $("details").textContent = picked.size ? `Line ${placeOf(indices)}` : "Nothing of this line is drawn.";
  mark(indices);
  selectionBar();
  draw();
}

function placeOf(indices) {
  const [, , python, pythonLine] = data.lines[indices[0]];
  return indices.length > 1 ? `${fileName(python)}:${pythonLine}` : place(indices[0]);
}

const selectedLines = () => picked.size ? [...picked] : event >= 0 ? [column.line[event]] : [];

function ofLines(indices) {
  const wanted = new Set(indices), found = [];
  for (let i = 0; i < column.line.length; i++) if (wanted.has(column.line[i])) found.push(i);
  return found.sort((a, b) => column.begin[a] - column.begin[b]);
}

function selectionBar() {
  const indices = selectedLines();
  $("selection").hidden = !indices.length;
  if (!indices.length) return;
  const all = ofLines(indices);
  const waited = all.reduce((sum, i) => sum + column.waited[i], 0);
  $("selected").textContent = `${placeOf(indices)}: ${all.length} events drawn, ${Math.round(waited)} cycles waited`;
}

// The rows of listings and tables that belong to lines of C++.
function mark(indices) {
  for (const row of document.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
  const places = new Set(), cpp = new Set(indices.map((index) => `${data.lines[index][0]}:${data.lines[index][1]}`));
  for (const index of indices) {
    const [file, number, python, pythonLine] = data.lines[index];
    places.add(`${file}:${number}`);
    if (python) places.add(`${python}:${pythonLine}`);
  }
  const seen = new Set();
  for (const row of document.querySelectorAll(".listing tr[data-line]")) {
    if (!places.has(`${row.parentElement.dataset.file}:${row.dataset.line}`)) continue;
    row.classList.add("chosen");
    const box = row.closest(".listing");
    if (seen.has(box)) continue;  // the first of a listing comes into sight
    seen.add(box);
    if (row.offsetTop < box.scrollTop + 30 || row.offsetTop > box.scrollTop + box.clientHeight - 30) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }
  for (const row of document.querySelectorAll(".lines tr[data-line]")) {
    row.classList.toggle("chosen", (row.dataset.all ? places : cpp).has(`${row.dataset.file}:${row.dataset.line}`));
  }
}

function showEvent(i) {
  const block = data.tracks[column.track[i]][0];
  if ($("blocks").value !== "all" && +$("blocks").value !== block) {
    $("blocks").value = block;
    arrange();
    followBlock();
  }
  if (column.begin[i] < view.from || column.end[i] > view.to) {
    const span = Math.max(view.to - view.from, 1.5 * (column.end[i] - column.begin[i]));
    const middle = (column.begin[i] + column.end[i]) / 2;
    look(middle - span / 2, middle + span / 2);
  }
  const row = rowOfTrack.get(column.track[i]), box = $("rows");
  if (row.top < box.scrollTop || row.top + row.height > box.scrollTop + box.clientHeight - AXIS) box.scrollTop = row.top - box.clientHeight / 2;
}

function step(by) {
  if (event < 0) return selectEvent(data.critical.length ? data.critical[0] : column.begin.length ? 0 : -1, true);
  const mine = [];
  for (const run of data.runs) if (run[0] === column.track[event]) for (let i = run[2]; i < run[2] + run[3]; i++) mine.push(i);
  mine.sort((a, b) => column.begin[a] - column.begin[b] || column.number[a] - column.number[b]);
  const next = mine[mine.indexOf(event) + by];
  if (next !== undefined) selectEvent(next, true);
}

function nextOfLine() {
  const indices = selectedLines();
  const all = ofLines(indices);
  if (!all.length) return;
  const at = all.indexOf(event);
  selectEvent(all[(at + 1) % all.length], true);
  if (indices.length > 1) picked = new Set(indices);  // all of them stay selected
  const i = event;
  const span = Math.max(20 * (column.end[i] - column.begin[i]), 400 * data.scale);
  if (view.to - view.from > 4 * span) look((column.begin[i] + column.end[i] - span) / 2, (column.begin[i] + column.end[i] + span) / 2);
}

// --- Moving ------------------------------------------------------------------------------------

function look(from, to) {
  const span = Math.min(Math.max(to - from, 8 * data.scale), view.last);
  view.from = Math.min(Math.max(0, from), view.last - span);
  view.to = view.from + span;
  remember();
  draw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  look(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function pan(part) {
  const by = part * (view.to - view.from);
  look(view.from + by, view.to + by);
}

function keys(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const scroll = (by) => { $("rows").scrollTop += by; };
  const actions = {
    ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), ArrowUp: () => scroll(-40), ArrowDown: () => scroll(40),
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: () => look(0, view.last), b: lookAtShown, Home: () => look(0, view.last),
    ",": () => step(-1), ".": () => step(1), n: nextOfLine, Escape: () => selectEvent(-1),
    c: () => { if (event >= 0 && column.cause[event] >= 0) selectEvent(column.cause[event], true); },
  };
  const action = actions[e.key];
  if (action) { e.preventDefault(); action(); }
}

function handle(canvas, describeAt, clickAt) {
  let held = null, moved = false;
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return pan(0.1 * Math.sign(e.deltaX || e.deltaY));
    const x = Math.max(0, e.offsetX - GUTTER);
    zoom(e.deltaY < 0 ? 0.8 : 1.25, view.from + x / scaleX(canvas.clientWidth));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    held = { x: e.clientX, y: e.clientY, from: view.from, to: view.to, scroll: $("rows").scrollTop };
    moved = false;
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (held) {
      const dx = e.clientX - held.x, dy = e.clientY - held.y;
      moved = moved || Math.abs(dx) + Math.abs(dy) > 3;
      if (moved) {
        const by = -dx / scaleX(canvas.clientWidth);
        look(held.from + by, held.to + by);
        if (canvas.id === "chart") $("rows").scrollTop = held.scroll - dy;
      }
      return tip(null);
    }
    tip(describeAt(e.offsetX, e.offsetY), e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (held && !moved) clickAt(e.offsetX, e.offsetY);
    held = null;
  });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("pointerleave", () => tip(null));
  canvas.addEventListener("keydown", keys);
}

function tip(lines, x, y) {
  const box = $("tip");
  box.hidden = !lines;
  if (!lines) return;
  box.textContent = lines.join("\n");
  const left = Math.min(x + 14, window.innerWidth - box.offsetWidth - 8);
  const top = y + 18 + box.offsetHeight > window.innerHeight ? y - box.offsetHeight - 10 : y + 18;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

// --- Start -------------------------------------------------------------------------------------

function option(select, value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  select.append(made);
}

function fillSelects() {
  const blocks = [...new Set(data.tracks.map((t) => t[0]))];
  if (blocks.length !== 1) option($("blocks"), "all", `all ${blocks.length} blocks`);
  for (const block of blocks) option($("blocks"), block, data.blocks[block]);
  const last = data.critical.length ? data.tracks[column.track[data.critical[0]]] : data.tracks[0];
  if (last) $("blocks").value = last[0];
  const cores = [...new Set(column["life core"])].sort((a, b) => a - b);
  for (const core of cores) option($("core"), core, `${data.blocks[Math.floor(core / data.cores.length)]} ${data.cores[core % data.cores.length]}`);
  $("core").parentElement.hidden = !cores.length;
  const near = last ? last[0] * data.cores.length + last[1] : -1;
  if (cores.includes(near)) $("core").value = near;
}

// A view in the address: #theme=dark&blocks=1&core=block 1 aiv0&from=3.5&to=4.
function readAddress() {
  const wanted = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const choose = (select, value) => {
    const found = [...select.options].find((o) => o.value === value || o.textContent === value);
    if (found) select.value = found.value;
  };
  for (const id of ["theme", "blocks", "core"]) if (wanted.has(id)) choose($(id), wanted.get(id));
  return wanted;
}

// The view goes into the address, so that the page shows it again when it is loaded or written anew.
let remembered = 0;
function remember() {
  if (root.dataset.state !== "ready") return;  // what was not chosen is not kept
  clearTimeout(remembered);
  remembered = setTimeout(() => {
    const now = new URLSearchParams();
    if ($("theme").value) now.set("theme", $("theme").value);
    if ($("blocks").value) now.set("blocks", $("blocks").value);
    if ($("core").value) now.set("core", $("core").selectedOptions[0].textContent);
    now.set("from", microseconds(view.from).toFixed(4));
    now.set("to", microseconds(view.to).toFixed(4));
    try { history.replaceState(null, "", `#${now}`); } catch { /* a page inside a notebook has no address */ }
  }, 200);
}

function lookAtAddress(wanted) {
  const from = parseFloat(wanted.get("from")), to = parseFloat(wanted.get("to"));
  const ticks = (us) => us * data.mhz * data.scale;
  if (from >= 0 && to > from) look(ticks(from), ticks(to));
}

function linesAt(file, number) {
  const found = [];
  data.lines.forEach((l, i) => {
    if ((l[0] === file && l[1] === number) || (l[2] === file && l[3] === number)) found.push(i);
  });
  return found;
}

function listen() {
  $("blocks").addEventListener("change", chooseBlock);
  $("core").addEventListener("change", () => { arrangeMap(); remember(); });
  $("rows").addEventListener("scroll", draw);
  $("arrows").addEventListener("change", draw);
  $("path").addEventListener("change", draw);
  $("zoom-in").addEventListener("click", () => zoom(0.6));
  $("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  $("fit").addEventListener("click", () => look(0, view.last));
  $("fit-block").addEventListener("click", lookAtShown);
  $("clear").addEventListener("click", () => selectEvent(-1));
  $("next").addEventListener("click", nextOfLine);
  $("show").addEventListener("click", () => {
    if (event < 0) nextOfLine(); else showEvent(event);
    $("timeline").scrollIntoView();
    $("chart").focus({ preventScroll: true });
  });
  $("theme").addEventListener("change", chooseTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
  new ResizeObserver(draw).observe($("rows"));
  handle($("chart"), (x, y) => { const i = eventAt(x, y); return i < 0 ? pipeAt(x, y) : describe(i); }, (x, y) => selectEvent(eventAt(x, y)));
  handle($("map"), (x, y) => { const i = lifeAt(x, y); return i < 0 ? null : describeLife(i); }, (x, y) => {
    const i = lifeAt(x, y);
    selectEvent(i < 0 ? -1 : column["life event"][i], true);
  });
  const pick = (e) => {
    const row = e.target.closest("tr[tabindex]");
    if (!row || (e.type === "keydown" && e.key !== "Enter" && e.key !== " ")) return;
    e.preventDefault();
    if (row.dataset.event !== undefined) return selectEvent(column.number.indexOf(+row.dataset.event), true);
    const file = row.dataset.file || row.closest("tbody").dataset.file;
    selectLines(linesAt(file, +row.dataset.line));
  };
  document.addEventListener("click", pick);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && e.target !== $("chart") && e.target !== $("map")) selectEvent(-1);
    pick(e);
  });
}

function theme() {
  if ($("theme").value) root.dataset.theme = $("theme").value; else delete root.dataset.theme;
  readColours();
  draw();
}

function chooseTheme() {
  theme();
  remember();
}

async function start() {
  await unpack();
  view.last = view.to = Math.max(data.cycles * data.scale, 8 * data.scale);
  fillSelects();
  const wanted = readAddress();
  theme();
  arrange();
  lookAtShown();
  lookAtAddress(wanted);
  arrangeMap();
  listen();
  if (wanted.has("event")) selectEvent(column.number.indexOf(+wanted.get("event")), true);
  drawChart();
  drawMap();
  root.dataset.events = column.begin.length;
  root.dataset.state = "ready";
}

start();
