// The live page of a run: boards, standings with intervals, and curves, as the run tells them.
import {$, brief, followTheme, make, shape} from "./dom.js";

const KEY = new URLSearchParams(location.hash.slice(1)).get("key") || "";
const seatColour = seat => `var(--c-seat${seat % 8})`;
const dot = seat => shape("svg", {class: "dot", viewBox: "0 0 12 12", "aria-hidden": "true"}, shape("circle", {cx: 6, cy: 6, r: 5.5, fill: seatColour(seat)}));
const panes = new Map();  // by board
let over = false, wait = 500;

const count = number => number.toLocaleString("en");

// Boards

function openBoard(name) {
  const picture = shape("svg", {role: "img"});
  const parts = {
    picture, heading: make("h2"), seats: make("ul", {class: "people"}), end: make("p", {class: "soft"}),
    board: make("div", {class: "board"}, picture), data: null,
  };
  parts.node = make("article", {class: "card", "data-board": name}, [parts.heading, parts.board, parts.seats, parts.end]);
  const later = [...panes.keys()].find(other => other.localeCompare(name, "en", {numeric: true}) > 0);
  $("boards").insertBefore(parts.node, later ? panes.get(later).node : null);
  panes.set(name, parts);
  return parts;
}
function showBoard(name, told) {
  const pane = panes.get(name) || openBoard(name);
  const game = told.game ? [make("span", {class: "soft"}, `game ${told.game}, step ${told.step}`)] : [];
  pane.heading.replaceChildren(told.env, ...game);
  const {picture} = told;
  pane.board.hidden = !picture || typeof drawMarks === "undefined";
  if (!pane.board.hidden) {
    pane.picture.replaceChildren();
    drawMarks({picture: pane.picture, episode: {marks: picture.table, sprites: picture.sprites}, drawn: [], marks: []}, picture.marks, picture.height);
    pane.picture.setAttribute("aria-label", `${told.env}: ${told.ending || "the game goes on"}`);
  }
  pane.seats.replaceChildren(...told.seats.map(showSeat));
  pane.node.classList.toggle("over", Boolean(told.over));
  pane.end.textContent = told.over ? told.ending || "over" : "";
  pane.end.hidden = !told.over;
}
function showSeat(seat, number) {
  const paid = seat.returns === undefined ? "" : brief(seat.returns);
  return make("li", {class: seat.acting ? "acting" : ""}, [
    dot(number),
    make("span", {class: "who"}, [make("b", {}, seat.player), " ", make("span", {class: "soft"}, seat.agent)]),
    make("output", {}, seat.result ? `${seat.result} ${paid}` : paid)]);
}

// Standings: a row an agent, its interval drawn on an axis that all share

function showStandings({title, rows}) {
  $("standing").hidden = !rows.length;
  $("standings-title").textContent = title;
  const known = rows.filter(row => row.value !== null);
  const ends = known.flatMap(row => [row.value, row.low ?? row.value, row.high ?? row.value]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)], wide = high - low || 1;
  const at = value => 4 + 192 * (value - low) / wide;
  const head = make("tr", {}, ["agent", "value", "interval", `${brief(low)} to ${brief(high)}`, "games"].map(text => make("th", {scope: "col"}, text)));
  const body = rows.map(row => {
    const line = shape("svg", {viewBox: "0 0 200 16", class: "whisker", "aria-hidden": "true"});
    if (row.value !== null) {
      if (row.low !== null) line.append(shape("path", {d: `M${at(row.low)} 8H${at(row.high)}M${at(row.low)} 4v8M${at(row.high)} 4v8`}));
      line.append(shape("circle", {cx: at(row.value), cy: 8, r: 3.5}));
    }
    const interval = row.low === null || row.value === null ? "" : `${brief(row.low)} to ${brief(row.high)}`;
    return make("tr", {}, [
      make("th", {scope: "row"}, [row.name, row.note ? make("span", {class: "note"}, row.note) : ""]), make("td", {class: "number"}, row.value === null ? "" : brief(row.value)), make("td", {class: "number"}, interval),
      make("td", {}, line), make("td", {class: "number"}, row.games ? String(row.games) : "")]);
  });
  $("standings").replaceChildren(make("thead", {}, head), make("tbody", {}, body));
}

// Curves: what comes before a / is one chart, what follows it one line

function showCurves(rows) {
  const charts = new Map();
  for (const [step, values] of rows) for (const [name, value] of Object.entries(values)) {
    const [chart, line] = [name.split("/")[0], name.split("/").slice(1).join("/") || name];
    if (!charts.has(chart)) charts.set(chart, new Map());
    const lines = charts.get(chart);
    if (!lines.has(line)) lines.set(line, []);
    lines.get(line).push([step, value]);
  }
  $("curving").hidden = !charts.size;
  $("curving").classList.toggle("many", charts.size > 4);
  $("curving").replaceChildren(...[...charts].map(([name, lines]) => chart(name, [...lines])));
}
function chart(name, lines) {
  const points = lines.flatMap(([, of]) => of), steps = points.map(point => point[0]), values = points.map(point => point[1]);
  const [first, last] = [Math.min(...steps), Math.max(...steps)], [low, high] = [Math.min(...values), Math.max(...values)];
  const x = step => 4 + 292 * (step - first) / (last - first || 1), y = value => high === low ? 50 : 94 - 88 * (value - low) / (high - low);
  const svg = shape("svg", {viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img", "aria-label": `${name}, from ${brief(low)} to ${brief(high)}`});
  svg.append(shape("path", {class: "rule", d: "M0 6H300M0 94H300"}));
  lines.forEach(([, of], number) => {
    const path = of.map(([step, value], place) => `${place ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    svg.append(shape("path", {class: "line", d: path, stroke: seatColour(number)}));
    if (of.length === 1) svg.append(shape("circle", {cx: x(of[0][0]), cy: y(of[0][1]), r: 2.5, fill: seatColour(number)}));
  });
  const key = lines.map(([line, of], number) => make("li", {}, [dot(number), line === name ? "" : `${line} `, make("output", {}, brief(of.at(-1)[1]))]));
  return make("figure", {}, [
    make("figcaption", {}, name),
    make("div", {class: "plot"}, [make("span", {class: "high"}, brief(high)), make("span", {class: "low"}, brief(low)), svg,
      make("span", {class: "first"}, count(first)), make("span", {class: "last"}, count(last))]),
    make("ul", {class: "key"}, key)]);
}

// The connection

const SHOW = {
  title: told => { $("title").textContent = told.title; document.title = told.title; $("title").title = told.viewer === "all" ? "Everything is shown" : told.viewer === "public" ? "What every seat may know" : `As seat ${told.viewer} sees it`; },
  standings: showStandings, curves: showCurves,
  over: () => { over = true; },
};
function take(text) {
  const [part, data] = JSON.parse(text);
  if (part.startsWith("board ")) showBoard(part.slice(6), data);
  else SHOW[part]?.(data);
}
function say(text) { if ($("status").textContent !== text) $("status").textContent = text; }
function connect() {
  const socket = new WebSocket(`ws://${location.host}/live`);
  socket.onopen = () => { socket.send(KEY); wait = 500; };
  socket.onmessage = event => { take(event.data); say(over ? "The run is over." : "Live"); };
  socket.onclose = event => {
    if (over) return;
    if (event.code === 1008) { say("This link is not this run's."); return; }
    say("The run has ended, or the connection is lost.");
    setTimeout(connect, wait);
    wait = Math.min(5000, 2 * wait);
  };
}
followTheme($("theme"));
connect();
