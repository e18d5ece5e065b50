// One episode

const EPISODE_BLOCKS = [...document.querySelectorAll('script[type="application/json"]')];
const NAMES = JSON.parse(EPISODE_BLOCKS.shift().textContent);
const parsed = new Map();
function episodeAt(number) {
  if (!parsed.has(number)) parsed.set(number, JSON.parse(EPISODE_BLOCKS[number].textContent));
  return parsed.get(number);
}
const LOG_LINES = 120;  // shown at once; those further back on demand
const isTold = audience => state.seat === null || !audience || audience.includes(state.seat);

const labelled = (text, number) => NAMES.length > 1 ? `${text}, episode ${number}` : text;

function openPane(number) {
  const episode = episodeAt(number), terms = termNames(episode);
  const pane = {number, episode, terms, drawn: [], marks: [], lines: LOG_LINES, rows: listRows(episode)};
  pane.paint = name => seatColour([6, 5, 2, 3, 0, 4, 1, 7][Math.max(0, terms.indexOf(name)) % 8]);
  const seen = episode.viewer ? `, as ${episode.viewer} sees it` : "";
  const title = make("h2", {}, [episode.env, " ", make("span", {}, `episode ${number}${episode.seed === null ? "" : `, seed ${episode.seed}`}${seen}`)]);
  pane.picture = shape("svg", {role: "img"});
  pane.seats = make("div", {class: "seats"});
  pane.end = make("div", {class: "end"});
  pane.told = episode.frames.flatMap((frame, at) => frame.events.map(([text, audience]) => ({at, text, audience})));
  pane.log = make("div", {class: "log", tabindex: 0, role: "log", "aria-live": "off", "aria-label": labelled("What was told", number)});
  const board = make("section", {class: "boardside", "aria-label": labelled("Board", number)}, [make("div", {class: "board"}, pane.picture), pane.seats, pane.end]);
  const minds = drawMinds(pane);
  pane.node = make("article", {class: `pane${minds.hidden ? "" : " minded"}`, "aria-label": `Episode ${number}`}, [title, board, ...(minds.hidden ? [] : [make("div", {class: "mindside"}, minds)]), pane.log, drawTimeline(pane), drawTurns(pane)]);
  return pane;
}
function showSeats(pane, frame) {
  const {episode} = pane;
  pane.seats.replaceChildren(...episode.players.map((player, seat) => make("div", {class: "seat" + (frame.acting.includes(seat) ? " acting" : "")}, [
    swatch(paintOf(episode, seat)), make("span", {class: "who"}, [make("b", {}, player), episode.agents[seat] ? make("span", {class: "soft"}, ` ${episode.agents[seat]}`) : ""]),
    make("output", {}, frame.returns[seat] === null ? "" : minus(frame.returns[seat]))])));
}
/** The lines told up to now that concern the seat; the last ones, and more on demand. */
function showLog(pane, at) {
  const {told, episode} = pane, lines = [];
  let place = told.length - 1, left = false;
  while (place >= 0 && told[place].at > at) place--;
  for (; place >= 0; place--) {
    if (!isTold(told[place].audience)) continue;
    if (lines.length >= pane.lines) { left = true; break; }
    lines.push(told[place]);
  }
  const nodes = lines.reverse().map(({at: when, text, audience}) => {
    const to = audience ? [make("span", {class: "soft"}, `(to ${audience.map(seat => episode.players[seat]).join(", ")}) `)] : [];
    return make("p", when === at ? {class: "now"} : {}, [...to, ...lit(text)]);
  });
  const more = make("button", {class: "more"}, "earlier lines");
  more.addEventListener("click", () => { pane.lines += 4 * LOG_LINES; showLog(pane, at); scrolls.length = 0; pane.log.scrollTop = 0; });
  pane.log.replaceChildren(...(left ? [more] : []), ...nodes);
  const now = nodes.find(node => node.className);
  scrollLater(() => { pane.log.scrollTop = now ? now.offsetTop - 120 : pane.log.scrollHeight; });
}
function showPane(pane) {
  const at = Math.min(state.step, pane.episode.frames.length - 1), frame = pane.episode.frames[at];
  drawPicture(pane, frame);
  showSeats(pane, frame);
  pane.end.textContent = frame.end;
  showLog(pane, at);
  showMinds(pane, at);
  showTurns(pane, at);
  showPaid(pane, at);
  return frame;
}

// The page

const lastStep = () => Math.max(...state.panes.map(pane => pane.episode.frames.length - 1));

function show(number) {
  const last = lastStep();
  state.step = Math.max(0, Math.min(last, number));
  const frames = state.panes.map(showPane);
  scrollNow();
  const told = frames[0].events.map(([text]) => text).join(" ").slice(0, 300);
  $("step").value = state.step;
  $("step").setAttribute("aria-valuetext", `turn ${state.step} of ${last}`);
  $("count").textContent = `${state.step} / ${last}`;
  tellHits();
  if (!state.timer) $("spoken").textContent = `Turn ${state.step} of ${last}. ${told} ${frames[0].end}`;
  const beside = state.panes[1] ? `&compare=${state.panes[1].number}` : "";
  if (location.protocol !== "about:") history.replaceState(null, "", `#episode=${state.panes[0].number}${beside}&turn=${state.step}`);
  if (state.step === last) pause();
}
function open(number, beside, at) {
  const bounded = n => Math.max(0, Math.min(NAMES.length - 1, n));
  const numbers = beside === null ? [bounded(number)] : [bounded(number), bounded(beside)];
  state.panes = numbers.map(openPane);
  $("panes").replaceChildren(...state.panes.map(pane => pane.node));
  $("panes").className = numbers.length > 1 ? "two" : "";
  $("title").textContent = state.panes[0].episode.env;
  document.title = `${state.panes[0].episode.env} replay`;
  $("episode").value = numbers[0];
  $("compare").value = numbers.length > 1 ? numbers[1] : "";
  $("step").max = lastStep();
  offerSeats();
  state.step = Math.max(0, Math.min(lastStep(), at));
  search();
}
function offerSeats() {
  const {episode} = state.panes[0], before = state.seat;
  const choices = [["", "all"], ...episode.players.map((player, seat) => [seat, player])];
  $("seat").replaceChildren(...choices.map(([value, text]) => make("option", {value}, text)));
  $("whose").hidden = Boolean(episode.viewer) || episode.players.length < 2;
  state.seat = $("whose").hidden || before === null || before >= episode.players.length ? null : before;
  $("seat").value = state.seat === null ? "" : state.seat;
}
function followAddress() {
  const asked = new URLSearchParams(location.hash.slice(1)), number = name => Number(asked.get(name)) || 0;
  open(number("episode"), asked.has("compare") && NAMES.length > 1 ? number("compare") : null, number("turn"));
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
function turnEpisode(by) { $("episode").value = (state.panes[0].number + by + NAMES.length) % NAMES.length; reopen(); }
function toggleCompare() {
  if (NAMES.length < 2) return;
  $("compare").value = state.panes.length > 1 ? "" : (state.panes[0].number + 1) % NAMES.length;
  reopen();
}
function setTheme(dark) { document.documentElement.dataset.theme = dark ? "dark" : "light"; }
const toggleTheme = () => setTheme(document.documentElement.dataset.theme !== "dark");

const KEYS = {
  ArrowRight: () => show(state.step + 1), ArrowLeft: () => show(state.step - 1), Home: () => show(0), End: () => show(Infinity),
  " ": toggle, "[": () => turnEpisode(-1), "]": () => turnEpisode(1), c: toggleCompare, d: toggleTheme, "/": () => $("find").focus(),
};
document.addEventListener("keydown", event => {
  const {tagName, type} = event.target, typing = tagName === "SELECT" || (tagName === "INPUT" && type === "search");
  const busy = typing || (event.key === " " && ["BUTTON", "SUMMARY"].includes(tagName));
  if (busy || event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
for (const [id, act] of Object.entries({first: KEYS.Home, back: KEYS.ArrowLeft, next: KEYS.ArrowRight, play: toggle, theme: toggleTheme, before: () => toHit(-1), after: () => toHit(1)})) $(id).addEventListener("click", act);
$("step").addEventListener("input", event => show(Number(event.target.value)));
$("speed").addEventListener("change", () => { if (state.timer) { pause(); toggle(); } });
for (const id of ["episode", "compare"]) $(id).addEventListener("change", reopen);
$("seat").addEventListener("change", event => { state.seat = event.target.value === "" ? null : Number(event.target.value); search(); });
$("find").addEventListener("input", search);
$("find").addEventListener("keydown", event => {
  if (event.key === "Enter") toHit(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { event.target.value = ""; search(); event.target.blur(); }
});
window.addEventListener("hashchange", followAddress);

const dark = matchMedia("(prefers-color-scheme: dark)");
setTheme(dark.matches);
dark.addEventListener("change", () => setTheme(dark.matches));
const choices = NAMES.map((episode, number) => [number, `${number}: ${episode.agents.join(" – ") || episode.env}`.slice(0, 60)]);
$("episode").append(...choices.map(([value, text]) => make("option", {value}, text)));
$("compare").append(...[["", "nothing"], ...choices].map(([value, text]) => make("option", {value}, text)));
$("which").hidden = $("against").hidden = NAMES.length < 2;
followAddress();
