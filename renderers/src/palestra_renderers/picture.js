const $ = id => document.getElementById(id);
const state = {step: 0, panes: [], timer: null, query: "", seat: null, hits: []};

const brief = number => Number(number).toLocaleString("en", Math.abs(number) < 1000 ? {maximumSignificantDigits: 4} : {maximumFractionDigits: 1});
const minus = number => brief(number).replace("-", "−");
const signed = number => `${number > 0 ? "+" : number < 0 ? "−" : ""}${brief(Math.abs(number))}`;
const grouped = number => number.toLocaleString("en");
const seatColour = seat => `var(--c-${seat < 0 ? "nobody" : `seat${seat % 8}`})`;
/** In which paint a seat's things are drawn, in pictures and beside its name. */
const paintOf = (episode, seat) => `var(--c-${episode.paints[seat] || "nobody"})`;
const swatch = paint => make("i", {class: "swatch", style: `background:${paint}`});
const textOf = (episode, lines) => (lines || []).map(number => episode.texts[number]).join("\n");

/** Draws a frame's picture into the pane. */
function drawPicture(pane, frame) {
  drawMarks(pane, frame.picture.marks, frame.picture.height);
  pane.picture.setAttribute("aria-label", textOf(pane.episode, frame.words) || "Nothing to see.");
}

// Scrolling waits until everything is drawn, so that the page is laid out once a step

const scrolls = [];
const scrollLater = act => scrolls.push(act);
function scrollNow() { for (const act of scrolls.splice(0)) act(); }

// Text with what is searched for marked in it

function lit(text) {
  if (!state.query) return [text];
  const parts = [], low = text.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(state.query); at >= 0 && parts.length < 400; at = low.indexOf(state.query, from)) {
    parts.push(text.slice(from, at), make("mark", {}, text.slice(at, at + state.query.length)));
    from = at + state.query.length;
  }
  return [...parts, text.slice(from)];
}
