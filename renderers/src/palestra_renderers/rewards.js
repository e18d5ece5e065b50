// Rewards: what every turn paid all seats, by term

function termNames(episode) {
  const names = new Set();
  for (const frame of episode.frames) for (const turn of frame.turns) for (const name in turn.rewards) names.add(name);
  return [...names];
}
/** Gains and losses of a frame by term: in a zero-sum game they would cancel. */
function paidTerms(frame) {
  const gains = new Map(), losses = new Map();
  for (const turn of frame.turns) for (const [name, value] of Object.entries(turn.rewards)) {
    const sums = value < 0 ? losses : gains;
    sums.set(name, (sums.get(name) || 0) + value);
  }
  return {gains: [...gains], losses: [...losses]};
}
const total = terms => terms.reduce((sum, [, value]) => sum + value, 0);
/** Round numbers from `low` to `high`, about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / count, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(of => of * size).find(of => of >= rough) || 10 * size, found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
  return found;
}
/** Bars as one path a term, in a box of 1000 by 100, with round numbers at its sides. */
function drawTimeline(pane) {
  const {episode} = pane, count = episode.frames.length, paid = episode.frames.map(paidTerms);
  let high = 0, low = 0;
  for (const {gains, losses} of paid) { high = Math.max(high, total(gains)); low = Math.min(low, total(losses)); }
  const flat = high === low, place = value => 2 + 96 * (high - value) / (flat ? 1 : high - low), wide = 1000 / count;
  if (flat) return make("section", {class: "timeline wide", "aria-label": labelled("Rewards", pane.number)}, make("p", {class: "soft"}, "No turn paid a reward."));
  const lines = new Map(pane.terms.map(name => [name, []]));
  paid.forEach(({gains, losses}, number) => {
    for (const terms of [gains, losses]) {
      let from = 0;
      for (const [name, value] of terms) {
        const x = number * wide + wide * .08, thick = Math.max(.8, wide * .84);
        lines.get(name).push(`M${x} ${place(from)}h${thick}V${place(from + value)}h${-thick}z`);
        from += value;
      }
    }
  });
  const sides = ticks(low, high, 3), across = ticks(0, count - 1, Math.min(10, count - 1)).filter(Number.isInteger);
  const svg = shape("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
    "aria-label": `Rewards by turn and term, from ${brief(low)} to ${brief(high)}. The table below has the numbers.`});
  svg.append(...sides.map(value => shape("path", {class: value ? "rule" : "rule zero", d: `M0 ${place(value)}H1000`})));
  pane.cursor = shape("rect", {class: "cursor", y: 0, width: Math.max(2, wide), height: 100});
  svg.append(pane.cursor, ...[...lines].map(([name, parts]) => shape("path", {class: "paid", d: parts.join(""), fill: pane.paint(name)})));
  svg.addEventListener("click", event => {
    const box = svg.getBoundingClientRect();
    show(Math.floor((event.clientX - box.left) / box.width * count));
  });
  pane.paidNow = make("output", {class: "paidnow"});
  const keys = pane.terms.map(name => make("span", {}, [swatch(pane.paint(name)), name]));
  return make("section", {class: "timeline wide", "aria-label": labelled("Rewards", pane.number)}, [
    make("div", {class: "key"}, [make("b", {}, "Rewards of all seats by turn"), ...keys, pane.paidNow]),
    make("div", {class: "chart"}, [
      make("div", {class: "sides", "aria-hidden": "true"}, sides.map(value => make("span", {style: `top:${place(value)}%`}, minus(value)))),
      svg,
      make("div", {class: "across", "aria-hidden": "true"}, across.map(at => make("span", {style: `${at > .97 * count && count > 30 ? "right:0;transform:none" : `left:${(at + .5) * 100 / count}%`}`}, String(at))))])]);
}
function showPaid(pane, at) {
  if (!pane.cursor) return;
  pane.cursor.setAttribute("x", at * 1000 / pane.episode.frames.length);
  const {gains, losses} = paidTerms(pane.episode.frames[at]);
  const told = [...gains, ...losses].map(([name, value]) => `${name} ${signed(value)}`).join(", ");
  pane.paidNow.textContent = `turn ${at}: ${told || "nothing"}`;
}
