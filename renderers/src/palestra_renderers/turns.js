// The table of turns: only the rows in sight exist, all of one height

const ROW = 32, SIGHT = 340, SPARE = 8, HALF = 2;  // pixels of a row and of all in sight; rows beyond the edges and above the current one
const HEADS = [["turn", "4.5em"], ["seat", "10em"], ["played", ""], ["status", "6em"], ["rewards", "26%"], ["tokens", "8em", "number"], ["seconds", "6em", "number"], ["cost", "5.5em", "number"]];

const isOfSeat = row => state.seat === null || row.turn.player === state.seat;

function listRows(episode) {
  return episode.frames.flatMap((frame, at) => frame.turns.map(turn => ({at, turn})));
}
function cellsOf(pane, {at, turn}) {
  const {players} = pane.episode;
  return [String(at), players[turn.player], lit(turn.text), turn.status, paidText(pane, turn),
    turn.tokens ? grouped(turn.tokens) : "", turn.seconds ? brief(turn.seconds) : "", turn.cost ? brief(turn.cost) : ""];
}
function rowNode(pane, row, place) {
  const cells = cellsOf(pane, row).map((text, column) => make("td", HEADS[column][2] ? {class: "number"} : {}, text));
  cells[2].title = row.turn.text;
  const node = make("tr", {"aria-rowindex": place + 2}, cells);
  if (row.at === state.step) { node.className = "now"; node.setAttribute("aria-current", "step"); }
  node.addEventListener("click", () => show(row.at));
  return node;
}
const spacer = (rows, columns) => make("tr", {class: "spacer", "aria-hidden": "true"}, make("td", {colspan: columns, style: `height:${rows * ROW}px`}));

function drawTurns(pane) {
  const heads = HEADS.map(([name, , kind]) => make("th", kind ? {scope: "col", class: kind} : {scope: "col"}, name));
  const columns = make("colgroup", {}, HEADS.map(([, wide]) => make("col", wide ? {style: `width:${wide}`} : {})));
  pane.body = make("tbody");
  pane.sums = make("tfoot");
  pane.table = make("table", {"aria-label": "Turns"}, [columns, make("thead", {}, make("tr", {"aria-rowindex": 1}, heads)), pane.body, pane.sums]);
  pane.turns = make("div", {class: "turns", tabindex: 0, role: "region", "aria-label": labelled("Turns", pane.number)}, pane.table);
  pane.turns.addEventListener("scroll", () => {
    if (outOfSight(pane, pane.turns.scrollTop)) drawRows(pane, pane.turns.scrollTop);
  });
  pane.found = make("p", {class: "soft found"});
  listTurns(pane);
  return make("div", {class: "wide"}, [pane.found, pane.turns]);
}
/** Which turns are listed: those of the seat that was asked for, and where the words are found. */
function listTurns(pane) {
  pane.listed = pane.rows.filter(row => isOfSeat(row) && (!state.query || row.hit));
  pane.table.setAttribute("aria-rowcount", pane.listed.length + 1);
  const few = pane.listed.length < pane.rows.length;
  pane.found.textContent = few ? `${grouped(pane.listed.length)} of ${grouped(pane.rows.length)} turns` : "";
  const sum = name => pane.listed.reduce((all, {turn}) => all + (turn[name] || 0), 0);
  const sums = [grouped(sum("tokens")), brief(sum("seconds")), brief(sum("cost"))];
  const row = make("tr", {}, [make("td", {colspan: 5}, "together"), ...sums.map(text => make("td", {class: "number"}, text === "0" ? "" : text))]);
  pane.sums.replaceChildren(...(sums.some(text => text !== "0") ? [row] : []));
  pane.top = 0;
}
/** Whether rows are missing that are in sight at this place. */
function outOfSight(pane, top) {
  const [first, last] = pane.window;
  return top < first * ROW || (top + SIGHT > last * ROW && last < pane.listed.length);
}
function drawRows(pane, top) {
  const count = pane.listed.length, first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const last = Math.min(count, Math.ceil((top + SIGHT) / ROW) + SPARE);
  pane.window = [first, last];
  const rows = pane.listed.slice(first, last).map((row, place) => rowNode(pane, row, first + place));
  pane.body.replaceChildren(spacer(first, HEADS.length), ...rows, spacer(count - last, HEADS.length));
}
function showTurns(pane, at) {
  const place = pane.listed.findIndex(row => row.at === at);
  if (place >= 0) {
    const top = Math.max(0, Math.min((pane.listed.length + 2) * ROW - SIGHT, (place - HALF) * ROW));
    pane.top = top;
    scrollLater(() => { pane.turns.scrollTop = top; });
  }
  drawRows(pane, pane.top);
}

// Search

/** All that is said of a turn in lower case, made when first searched. */
function wordsOf(pane, row) {
  if (row.words !== undefined) return row.words;
  const {turn} = row, {mind} = turn, parts = [turn.text, turn.status];
  for (const one of mind ? mind.tries : []) {
    for (const lines of [one.thought, one.raw, one.error, ...(one.asked || []).map(([, text]) => text)]) parts.push(textOf(pane.episode, lines));
  }
  for (const talk of (mind && mind.talks) || []) for (const [, , text] of talk.lines) parts.push(textOf(pane.episode, text));
  return row.words = parts.join("\n").toLowerCase();
}
/** Marks the rows of a pane in which the words are, and returns the turns to stop at. */
function findIn(pane) {
  const found = new Set();
  for (const row of pane.rows) if (row.hit = Boolean(state.query) && wordsOf(pane, row).includes(state.query)) if (isOfSeat(row)) found.add(row.at);
  if (state.query) for (const {at, text, audience} of pane.told) {
    if (isTold(audience) && text.toLowerCase().includes(state.query)) found.add(at);
  }
  return found;
}
function search() {
  state.query = $("find").value.trim().toLowerCase();
  state.hits = [...new Set(state.panes.flatMap(pane => [...findIn(pane)]))].sort((a, b) => a - b);
  for (const pane of state.panes) { listTurns(pane); pane.bubbles = new Map(); pane.shownLog = null; }
  for (const id of ["before", "after"]) $(id).hidden = !state.hits.length;
  show(state.step);
}
function toHit(by) {
  if (!state.hits.length) return;
  const later = state.hits.filter(at => by > 0 ? at > state.step : at < state.step);
  const next = by > 0 ? later[0] : later[later.length - 1];
  show(next === undefined ? state.hits[by > 0 ? 0 : state.hits.length - 1] : next);
}
function tellHits() {
  const place = state.hits.indexOf(state.step);
  $("hits").textContent = !state.query ? "" : !state.hits.length ? "not found" : `${place >= 0 ? `${place + 1} of ` : ""}${grouped(state.hits.length)} turns`;
}
