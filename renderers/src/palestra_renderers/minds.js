// What the seats' agents read, thought and said, as bubbles, see minds.py

const EARLIER = 6;  // turns shown before the current one, and added on demand

function bubble(kind, label, text, told = {}) {
  const long = text.length > 700 || text.split("\n").length > 12;
  const words = make("div", long ? {class: "words long", tabindex: 0} : {class: "words"}, lit(text));
  if (!told.folded) return make("div", {class: `bubble ${kind}`}, [make("b", {}, label), words]);
  const size = `${grouped(text.length)} characters`;
  const node = make("details", {class: `bubble ${kind}`}, [make("summary", {}, [make("b", {}, label), ` ${size}`]), words]);
  node.dataset.opens = told.opens ? "1" : "";
  return node;
}
const ASKED = {
  sent: role => `prompt (${role}), as sent`,
  rebuilt: role => `prompt (${role}), as sent`,
  told: () => "what the seat was told; the agent's own prompt is not on the record",
};
function askedBubbles(pane, mind, one) {
  const asked = one.asked || [], last = asked.length - 1;
  const before = one.earlier ? [make("p", {class: "soft"}, `after ${one.earlier} messages of the turn before`)] : [];
  return [...before, ...asked.map(([role, text], place) =>
    bubble(`asked ${role === "assistant" ? "own" : ""}`, ASKED[mind.source](role || "text"), textOf(pane.episode, text), {folded: true, opens: place === last}))];
}
function usageText(one) {
  const used = one.usage || {}, parts = [];
  if (one.model) parts.push(one.model);
  if (one.logprob != null) parts.push(`log-prob ${signed(one.logprob)}${one.logprob > -7 ? ` (p = ${brief(Math.exp(one.logprob))})` : ""}`);
  if (used.in || used.out) parts.push(`${grouped(used.in || 0)} tokens in, ${grouped(used.out || 0)} out${used.cached ? `, ${grouped(used.cached)} cached` : ""}`);
  if (used.calls > 1) parts.push(`${used.calls} calls`);
  if (used.seconds) parts.push(`${brief(used.seconds)} s`);
  if (used.cost) parts.push(`cost ${brief(used.cost)}`);
  return parts.join(" · ");
}
function tryBubbles(pane, mind, one) {
  const text = lines => textOf(pane.episode, lines), found = askedBubbles(pane, mind, one);
  if (one.thought) found.push(bubble("thought", "thought", text(one.thought)));
  if (one.raw) found.push(bubble("said", "answer", text(one.raw) || "(empty)"));
  if (one.error) found.push(bubble("refused", "refused", text(one.error)));
  const used = usageText(one);
  if (used) found.push(make("p", {class: "used"}, used));
  return found;
}
/** Data as nested lists; numbers by name as bars, the largest first. */
function factNode(name, value) {
  if (value === null || typeof value !== "object") return make("li", {}, [make("b", {}, name), ` ${typeof value === "number" ? brief(value) : value}`]);
  const named = Object.entries(value), numbers = !Array.isArray(value) && named.every(([, one]) => typeof one === "number");
  if (numbers && named.length) return make("li", {}, [make("b", {}, name), factBars(named)]);
  if (Array.isArray(value) && value.every(one => one === null || typeof one !== "object")) return make("li", {}, [make("b", {}, name), ` ${value.join(", ")}`]);
  return make("li", {}, [make("b", {}, name), make("ul", {}, named.map(([key, one]) => factNode(key, one)))]);
}
function factBars(named) {
  const sorted = named.sort((a, b) => b[1] - a[1]), shown = sorted.slice(0, 12);
  const most = Math.max(1e-9, ...shown.map(([, value]) => Math.abs(value)));
  const bars = shown.map(([name, value]) => make("div", {class: "bar"}, [make("span", {}, name),
    make("div", {"aria-hidden": "true"}, make("span", {class: value < 0 ? "loss" : "", style: `width:${100 * Math.abs(value) / most}%`})), make("span", {}, minus(value))]));
  if (sorted.length > shown.length) bars.push(make("p", {class: "soft"}, `and ${sorted.length - shown.length} more`));
  return make("div", {class: "bars"}, bars);
}
function traceNodes(pane, mind) {
  const found = (mind.talks || []).map(talk => make("details", {class: "trace"}, [
    make("summary", {}, `conversation inside the agent: ${talk.players.join(", ")}`),
    ...talk.lines.map(([seat, role, text]) => role
      ? bubble("asked", `${role} to ${talk.players[seat]}`, textOf(pane.episode, text), {folded: true})
      : bubble("said", String(talk.players[seat]), textOf(pane.episode, text)))]));
  const facts = {...(mind.settings ? {settings: mind.settings} : {}), ...(mind.facts || {})};
  const silent = !mind.tries.some(one => one.raw);  // all there is to see of this mind
  if (Object.keys(facts).length) found.push(make("details", {class: "trace facts", "data-opens": silent ? "1" : ""}, [
    make("summary", {}, `the agent's own notes: ${Object.keys(facts).join(", ")}`),
    make("ul", {}, Object.entries(facts).map(([name, value]) => factNode(name, value)))]));
  return found;
}
function mindNode(pane, row) {
  const {episode} = pane, {turn, at} = row, {mind} = turn;
  const go = make("button", {class: "goto", "aria-label": `Go to turn ${at}`}, `turn ${at}`);
  go.addEventListener("click", () => show(at));
  const head = make("h3", {}, [swatch(paintOf(episode, turn.player)), make("span", {}, episode.players[turn.player]),
    make("span", {class: "soft"}, episode.agents[turn.player] || ""), go]);
  const status = turn.status === "ok" ? "" : ` (${turn.status})`;
  const played = make("p", {class: "played"}, [make("b", {}, `${turn.status === "forfeit" ? "lost its turn: " : "played "}`), ...lit(turn.text), status, ...paidText(pane, turn)]);
  const note = mind.note ? [make("p", {class: "soft"}, mind.note)] : [];
  return make("article", {class: "mind", style: `border-color:${paintOf(episode, turn.player)}`},
    [head, ...note, ...mind.tries.flatMap(one => tryBubbles(pane, mind, one)), played, ...traceNodes(pane, mind)]);
}
const paidText = (pane, turn) => Object.entries(turn.rewards).map(([name, value]) =>
  make("span", {class: "paid"}, [swatch(pane.paint(name)), `${name} ${signed(value)}`]));

function drawMinds(pane) {
  pane.minded = pane.rows.filter(row => row.turn.mind);
  pane.bubbles = new Map();
  pane.earlier = EARLIER;
  pane.minds = make("section", {class: "minds", tabindex: 0, "aria-label": labelled("What the seats read, thought and said", pane.number)});
  pane.minds.hidden = !pane.minded.length;
  return pane.minds;
}
/** Shows the turns up to the current one, newest last; those further back on demand. */
function showMinds(pane, at) {
  if (!pane.minded.length) return;
  const past = pane.minded.filter(row => row.at <= at && isOfSeat(row));
  const now = past.filter(row => row.at === at).length;
  const shown = past.slice(-(now + pane.earlier)), left = past.length - shown.length;
  const old = pane.bubbles;
  pane.bubbles = new Map(shown.map(row => [row, old.get(row) || mindNode(pane, row)]));
  for (const [row, node] of pane.bubbles) markNow(node, row.at === at);
  const more = make("button", {class: "more"}, `earlier turns (${grouped(left)})`);
  more.addEventListener("click", () => { pane.earlier += 4 * EARLIER; showMinds(pane, at); scrolls.length = 0; pane.minds.scrollTop = 0; });
  const none = make("p", {class: "soft"}, at ? "Nobody has said how they decided up to here." : "Nothing yet: step forward to the first turn.");
  pane.minds.replaceChildren(...(left ? [more] : []), ...pane.bubbles.values(), ...(shown.length ? [] : [none]));
  const first = [...pane.bubbles].find(([row]) => row.at === at) || [...pane.bubbles].pop();
  if (first) scrollLater(() => { pane.minds.scrollTop = first[1].offsetTop - 8; });
}
function markNow(node, now) {
  if (node.classList.contains("now") === now) return;
  node.classList.toggle("now", now);
  for (const folded of node.querySelectorAll("details")) folded.open = now && folded.dataset.opens === "1";
}
