// Everything shown comes through textContent or setAttribute: no text is ever read as a tag.
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const state = {step: 0, panes: [], timer: null};

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of [children].flat()) if (child !== "" && child != null) node.append(child);
  return node;
}
const make = (tag, attributes = {}, children = "") => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, children = "") => fill(document.createElementNS(SVG, tag), attributes, children);
const brief = number => String(Number(Number(number).toPrecision(4)));
const seatColour = (episode, seat) => episode.colours[seat < 0 ? 0 : 1 + seat % 8];

function inkOn(paint) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(paint.slice(at, at + 2), 16));
  return .299 * red + .587 * green + .114 * blue > 140 ? "#1e2128" : "#ffffff";
}

// The board

function boardWords(grid) {
  const said = [];
  grid.cells.forEach((row, r) => row.forEach((piece, c) => {
    const place = grid.columns[c] || grid.rows[r] ? `${grid.columns[c] || ""}${grid.rows[r] || ""}` : `row ${r + 1} column ${c + 1}`;
    if (piece) said.push(`${place}: ${piece[3] || piece[0]}${piece[1] >= 0 ? ` of player_${piece[1]}` : ""}`);
  }));
  return `Board of ${grid.cells.length} rows. ${said.slice(0, 120).join("; ") || "Empty."}`;
}
function drawGrid(episode, grid) {
  const cell = 60, rows = grid.cells.length, columns = Math.max(...grid.cells.map(row => row.length));
  const top = grid.columns.length ? 24 : 4, left = grid.rows.length ? 30 : 4;
  const svg = shape("svg", {viewBox: `0 0 ${left + columns * cell + 4} ${top + rows * cell + 4}`, role: "img", "aria-label": boardWords(grid)});
  const holes = grid.columns.length && !grid.rows.length;
  const shaded = new Set(grid.shaded.map(String)), marked = new Set(grid.highlighted.map(String));
  const label = (x, y, text, anchor) => svg.append(shape("text", {x, y, "text-anchor": anchor, "font-size": 15, fill: "currentColor"}, text));
  grid.columns.forEach((text, c) => label(left + c * cell + cell / 2, 16, text, "middle"));
  grid.rows.forEach((text, r) => label(left - 8, top + r * cell + cell / 2 + 5, text, "end"));
  grid.cells.forEach((row, r) => row.forEach((piece, c) => {
    const x = left + c * cell, y = top + r * cell, cx = x + cell / 2, cy = y + cell / 2, at = `${r},${c}`;
    const plain = holes ? "var(--board)" : grid.checkered && (r + c) % 2 ? "var(--dark)" : "var(--hole)";
    svg.append(shape("rect", {x, y, width: cell, height: cell, fill: shaded.has(at) ? "var(--shade)" : plain, stroke: holes ? "none" : "var(--line)"}));
    if (holes) svg.append(shape("circle", {cx, cy, r: cell * .4, fill: "var(--hole)"}));
    if (piece) drawPiece(svg, piece, seatColour(episode, piece[1]), cx, cy, cell);
    if (marked.has(at)) svg.append(shape("rect", {x: x + 2, y: y + 2, width: cell - 4, height: cell - 4, fill: "none", stroke: "#cc3c28", "stroke-width": 4}));
  }));
  return svg;
}
function drawPiece(svg, [glyph, , kind, label], paint, cx, cy, cell) {
  const reach = cell * .28;
  const group = shape("g");
  svg.append(group);
  if (label) group.append(shape("title", {}, label));
  if (kind === "mark" && glyph === "X") {
    for (const sign of [1, -1]) group.append(shape("line", {x1: cx - reach, y1: cy - sign * reach, x2: cx + reach, y2: cy + sign * reach, stroke: paint, "stroke-width": 7, "stroke-linecap": "round"}));
  } else if (kind === "mark" && glyph === "O") {
    group.append(shape("circle", {cx, cy, r: reach, fill: "none", stroke: paint, "stroke-width": 7}));
  } else {
    const marks = kind === "mark";
    if (kind === "disc") group.append(shape("circle", {cx, cy, r: cell * .4, fill: paint, stroke: "#1e2128"}));
    else if (!marks) group.append(shape("rect", {x: cx - cell * .4, y: cy - cell * .4, width: cell * .8, height: cell * .8, rx: 7, fill: paint}));
    if (label || kind !== "disc") group.append(shape("text", {x: cx, y: cy + 8, "text-anchor": "middle", "font-size": glyph.length > 2 ? 18 : 24, fill: marks ? paint : inkOn(paint)}, glyph));
  }
}
function drawScene(episode, scene) {
  const parts = [];
  if (scene.caption) parts.push(make("p", {}, scene.caption));
  if (scene.grid) parts.push(drawGrid(episode, scene.grid));
  for (const [owner, cards] of scene.hands) {
    const shown = cards.map(([glyph, seat]) => make("span", {class: "card", style: `border-color:${seatColour(episode, seat)}`}, glyph));
    parts.push(make("div", {class: "cards"}, [make("span", {class: "owner"}, owner), ...shown]));
  }
  for (const [label, value, full, seat] of scene.bars) {
    const share = full > 0 ? Math.max(0, Math.min(100, 100 * value / full)) : 0;
    const track = make("div", {}, make("span", {style: `width:${share}%;background:${seatColour(episode, seat)}`}));
    parts.push(make("div", {class: "bar"}, [make("span", {}, label), track, make("span", {}, `${brief(value)} of ${brief(full)}`)]));
  }
  if (scene.lines.length) parts.push(make("pre", {}, scene.lines.join("\n")));
  return parts;
}

// Rewards

function termNames(episode) {
  const names = new Set();
  for (const frame of episode.frames) for (const turn of frame.turns) for (const name of Object.keys(turn.rewards)) names.add(name);
  return [...names];
}
function largest(episode) {
  return Math.max(1e-9, ...episode.frames.map(frame => Math.max(0, ...frame.turns.flatMap(turn => Object.values(turn.rewards).map(Math.abs)))));
}
/** One bar a term, from the middle to the right for a gain and to the left for a loss. */
function termBars(pane, rewards) {
  return Object.entries(rewards).map(([name, value]) => {
    const wide = 50 * Math.abs(value) / pane.largest, paint = pane.paint(name);
    const span = make("span", {style: `width:${wide}%;${value < 0 ? "right" : "left"}:50%;background:${paint}`});
    return make("div", {class: "term"}, [make("b", {title: name}, name), make("div", {"aria-hidden": "true"}, span), make("span", {}, `${value > 0 ? "+" : ""}${brief(value)}`)]);
  });
}
/** What every turn paid all seats, stacked by term; a click goes to the turn. */
function drawTimeline(pane) {
  const {episode} = pane, count = episode.frames.length, wide = 1000, half = 50;
  const paid = episode.frames.map(frame => {
    const sums = new Map();  // gains and losses apart: in a zero-sum game they would cancel
    for (const turn of frame.turns) for (const [name, value] of Object.entries(turn.rewards)) {
      const key = JSON.stringify([name, value < 0]);
      sums.set(key, (sums.get(key) || 0) + value);
    }
    return [...sums].map(([key, value]) => [JSON.parse(key)[0], value]);
  });
  const signed = sign => paid.map(terms => terms.reduce((all, [, v]) => all + Math.max(0, sign * v), 0));
  const tallest = Math.max(1e-9, ...signed(1), ...signed(-1));
  const svg = shape("svg", {viewBox: `0 0 ${wide} ${2 * half}`, preserveAspectRatio: "none", role: "img", "aria-label": `Rewards by turn and term; the largest is ${brief(tallest > 1e-9 ? tallest : 0)}. The table below has the numbers.`});
  const gap = wide / count;
  svg.append(shape("line", {x1: 0, x2: wide, y1: half, y2: half, stroke: "var(--line)"}));
  pane.cursor = shape("rect", {y: 0, width: Math.max(2, gap), height: 2 * half, fill: "var(--focus)", opacity: .25});
  svg.append(pane.cursor);
  paid.forEach((terms, number) => {
    const at = {1: half, "-1": half};
    for (const [name, value] of terms) {
      const tall = (half - 2) * Math.abs(value) / tallest, sign = value < 0 ? -1 : 1;
      const y = sign > 0 ? at[1] - tall : at[-1];
      at[sign] -= sign * tall;
      if (value) svg.append(shape("rect", {x: number * gap + gap * .1, y, width: Math.max(1, gap * .8), height: tall, fill: pane.paint(name)}));
    }
  });
  svg.addEventListener("click", event => {
    const box = svg.getBoundingClientRect();
    show(Math.floor((event.clientX - box.left) / box.width * count));
  });
  const keys = pane.terms.map(name => make("span", {}, [make("i", {style: `background:${pane.paint(name)}`}), name]));
  const hint = pane.terms.length ? keys : "No rewards yet by any turn.";
  return make("div", {class: "timeline wide"}, [svg, make("div", {class: "key"}, hint)]);
}
function drawTurns(pane) {
  const {episode} = pane, body = make("tbody");
  let tokens = 0, cost = 0;
  pane.rows = episode.frames.map((frame, number) => frame.turns.map(turn => {
    tokens += turn.tokens; cost += turn.cost;
    const cells = [[number], [episode.players[turn.player]], [turn.text], [turn.status], [termBars(pane, turn.rewards)],
      [turn.tokens ? turn.tokens.toLocaleString("en") : "", "number"], [turn.cost ? brief(turn.cost) : "", "number"]];
    const row = make("tr", {}, cells.map(([text, kind]) => make("td", kind ? {class: kind} : {}, Array.isArray(text) ? text : String(text))));
    row.addEventListener("click", () => show(number));
    body.append(row);
    return row;
  }));
  const heads = ["turn", "seat", "played", "status", "rewards"].map(name => make("th", {scope: "col"}, name));
  heads.push(...["tokens", "cost"].map(name => make("th", {scope: "col", class: "number"}, name)));
  const sums = make("tr", {}, [make("td", {colspan: 5}, "together"), make("td", {class: "number"}, tokens.toLocaleString("en")), make("td", {class: "number"}, brief(cost))]);
  const table = make("table", {"aria-label": "Turns"}, [make("thead", {}, make("tr", {}, heads)), body, ...(tokens || cost ? [make("tfoot", {}, sums)] : [])]);
  return make("div", {class: "turns wide", tabindex: 0, role: "region", "aria-label": "Turns"}, table);
}

// One episode

function openPane(number) {
  const episode = EPISODES[number], terms = termNames(episode);
  const pane = {number, episode, terms, largest: largest(episode), shown: []};
  pane.paint = name => seatColour(episode, [6, 5, 2, 3, 0, 4, 1, 7][Math.max(0, terms.indexOf(name)) % 8]);
  const seen = episode.viewer ? `, as ${episode.viewer} sees it` : "";
  const title = make("h2", {}, [episode.env, " ", make("span", {}, `episode ${number}${episode.seed === null ? "" : `, seed ${episode.seed}`}${seen}`)]);
  pane.scene = make("div", {class: "board"});
  pane.seats = make("div");
  pane.end = make("div", {class: "end"});
  pane.lines = episode.frames.flatMap((frame, at) => frame.events.map(([text, audience]) => {
    const to = audience ? `(to ${audience.map(seat => episode.players[seat]).join(", ")}) ` : "";
    return {at, audience, node: make("p", {}, (episode.viewer ? "" : to) + text)};
  }));
  pane.log = make("div", {class: "log", tabindex: 0, role: "log", "aria-live": "off", "aria-label": "What was told"}, pane.lines.map(line => line.node));
  pane.node = make("article", {class: "pane", "aria-label": `Episode ${number}`}, [
    title, make("section", {"aria-label": "Board"}, [pane.scene, pane.seats, pane.end]), pane.log, drawTimeline(pane), drawTurns(pane)]);
  return pane;
}
function showPane(pane, audience) {
  const {episode} = pane, at = Math.min(state.step, episode.frames.length - 1), frame = episode.frames[at];
  pane.scene.replaceChildren(...drawScene(episode, frame.scene));
  pane.seats.replaceChildren(...episode.players.map((player, seat) => make("div", {class: "seat" + (frame.acting.includes(seat) ? " acting" : "")}, [
    make("i", {style: `background:${seatColour(episode, seat)}`}), make("span", {}, [player, episode.agents[seat]].filter(Boolean).join("  ")),
    make("output", {}, frame.returns[seat] === null ? "" : brief(frame.returns[seat]))])));
  pane.end.textContent = frame.end;
  for (const line of pane.lines) {
    const hidden = audience !== "" && line.audience && !line.audience.includes(Number(audience));
    line.node.className = line.at > at ? "later" : hidden ? "other" : line.at === at ? "now" : "";
  }
  const now = pane.lines.find(line => line.node.className === "now");
  if (now) pane.log.scrollTop = now.node.offsetTop - pane.log.offsetTop - 120;
  for (const row of pane.shown) { row.className = ""; row.removeAttribute("aria-current"); }
  pane.shown = pane.rows[at];
  for (const row of pane.shown) { row.className = "now"; row.setAttribute("aria-current", "step"); }
  const row = pane.shown[0], box = row && row.closest(".turns");
  if (row) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  pane.cursor.setAttribute("x", at * 1000 / episode.frames.length);
  return frame;
}

// The page

const lastStep = () => Math.max(...state.panes.map(pane => pane.episode.frames.length - 1));

function show(number) {
  const last = lastStep();
  state.step = Math.max(0, Math.min(last, number));
  const frames = state.panes.map(pane => showPane(pane, $("audience").value));
  const told = frames[0].events.map(([text]) => text).join(" ").slice(0, 300);
  $("step").value = state.step;
  $("step").setAttribute("aria-valuetext", `turn ${state.step} of ${last}`);
  $("count").textContent = `${state.step} / ${last}`;
  if (!state.timer) $("spoken").textContent = `Turn ${state.step} of ${last}. ${told} ${frames[0].end}`;
  const beside = state.panes[1] ? `&compare=${state.panes[1].number}` : "";
  history.replaceState(null, "", `#episode=${state.panes[0].number}${beside}&turn=${state.step}`);
  if (state.step === last) pause();
}
function open(number, beside, at) {
  const bounded = n => Math.max(0, Math.min(EPISODES.length - 1, n));
  const numbers = beside === null ? [bounded(number)] : [bounded(number), bounded(beside)];
  state.panes = numbers.map(openPane);
  $("panes").replaceChildren(...state.panes.map(pane => pane.node));
  $("panes").className = numbers.length > 1 ? "two" : "";
  $("title").textContent = state.panes[0].episode.env;
  document.title = `${state.panes[0].episode.env} replay`;
  $("episode").value = numbers[0];
  $("compare").value = numbers.length > 1 ? numbers[1] : "";
  $("step").max = lastStep();
  offerAudiences();
  show(at);
}
/** Whose transcript is shown; only where somebody was told something alone. */
function offerAudiences() {
  const {episode} = state.panes[0], before = $("audience").value;
  const choices = [["", "anybody"], ...episode.players.map((player, seat) => [seat, player])];
  $("audience").replaceChildren(...choices.map(([value, text]) => make("option", {value}, text)));
  $("whose").hidden = Boolean(episode.viewer) || !state.panes.some(pane => pane.lines.some(line => line.audience));
  $("audience").value = $("whose").hidden || before >= episode.players.length ? "" : before;
}
function followAddress() {
  const asked = new URLSearchParams(location.hash.slice(1)), number = name => Number(asked.get(name)) || 0;
  open(number("episode"), asked.has("compare") && EPISODES.length > 1 ? number("compare") : null, number("turn"));
}
function pause() { clearInterval(state.timer); state.timer = null; labelPlay("▶ play", "Play"); }
function labelPlay(text, label) { $("play").textContent = text; $("play").setAttribute("aria-label", label); }
function toggle() {
  if (state.timer) return pause();
  if (state.step === lastStep()) show(0);
  labelPlay("⏸ pause", "Pause");
  state.timer = setInterval(() => show(state.step + 1), Number($("speed").value));
}
const reopen = () => open(Number($("episode").value), $("compare").value === "" ? null : Number($("compare").value), state.step);
function turnEpisode(by) { $("episode").value = (state.panes[0].number + by + EPISODES.length) % EPISODES.length; reopen(); }
function toggleCompare() {
  if (EPISODES.length < 2) return;
  $("compare").value = state.panes.length > 1 ? "" : (state.panes[0].number + 1) % EPISODES.length;
  reopen();
}
function setTheme(dark) { document.documentElement.dataset.theme = dark ? "dark" : "light"; }
const toggleTheme = () => setTheme(document.documentElement.dataset.theme !== "dark");

const KEYS = {
  ArrowRight: () => show(state.step + 1), ArrowLeft: () => show(state.step - 1), Home: () => show(0), End: () => show(Infinity),
  " ": toggle, "[": () => turnEpisode(-1), "]": () => turnEpisode(1), c: toggleCompare, d: toggleTheme,
};
document.addEventListener("keydown", event => {
  const busy = event.target.tagName === "SELECT" || (event.key === " " && event.target.tagName === "BUTTON");
  if (busy || event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
for (const [id, act] of Object.entries({first: KEYS.Home, back: KEYS.ArrowLeft, next: KEYS.ArrowRight, play: toggle, theme: toggleTheme})) $(id).addEventListener("click", act);
$("step").addEventListener("input", event => show(Number(event.target.value)));
$("speed").addEventListener("change", () => { if (state.timer) { pause(); toggle(); } });
for (const id of ["episode", "compare"]) $(id).addEventListener("change", reopen);
$("audience").addEventListener("change", () => show(state.step));
window.addEventListener("hashchange", followAddress);

const dark = matchMedia("(prefers-color-scheme: dark)");
setTheme(dark.matches);
dark.addEventListener("change", () => setTheme(dark.matches));
const choices = EPISODES.map((episode, number) => [number, `${number}: ${episode.agents.join(" – ") || episode.env}`.slice(0, 60)]);
$("episode").append(...choices.map(([value, text]) => make("option", {value}, text)));
$("compare").append(...[["", "nothing"], ...choices].map(([value, text]) => make("option", {value}, text)));
$("which").hidden = $("against").hidden = EPISODES.length < 2;
followAddress();
