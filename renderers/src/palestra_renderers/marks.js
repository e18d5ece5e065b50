// Marks drawn as SVG, for every page that shows a scene: see svg.py. Everything shown comes through
// textContent or setAttribute: no text is ever read as a tag.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of [children].flat()) if (child !== "" && child != null) node.append(child);
  return node;
}
const make = (tag, attributes = {}, children = "") => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, children = "") => fill(document.createElementNS(SVG, tag), attributes, children);

const paint = name => name ? `var(--c-${name})` : "none";
const path = points => points.map(([x, y]) => `${x},${y}`).join(" ");
const SANS = "DejaVu Sans, Verdana, sans-serif"; // the letters by which widths were measured
const FACES = {
  "": {"font-family": SANS}, bold: {"font-family": SANS, "font-weight": "bold"},
  mono: {"font-family": "DejaVu Sans Mono, Menlo, Consolas, monospace"},
};
const DRAW = {
  r: (episode, x, y, width, height, fill, edge, thick, radius) =>
    shape("rect", {x, y, width, height, rx: radius, fill: paint(fill), stroke: paint(edge), "stroke-width": thick}),
  c: (episode, cx, cy, r, fill, edge, thick) =>
    shape("circle", {cx, cy, r, fill: paint(fill), stroke: paint(edge), "stroke-width": thick}),
  p: (episode, points, fill, edge, thick) =>
    shape("polygon", {points: path(points), fill: paint(fill), stroke: paint(edge), "stroke-width": thick}),
  l: (episode, points, colour, thick) =>
    shape("polyline", {points: path(points), fill: "none", stroke: paint(colour), "stroke-width": thick}),
  w: (episode, x, y, text, height, colour, anchor, ground, face) =>
    shape("text", {x, y, dy: ".33em", "font-size": height * .74, fill: paint(colour), "text-anchor": anchor, ...FACES[face]}, text),
  s: (episode, x, y, size, name, colour, edge, turn) => {
    const scale = size / 25.2, place = `translate(${x} ${y}) rotate(${turn}) scale(${scale}) translate(-12 -12)`;
    return shape("path", {d: episode.sprites[name], transform: place, fill: paint(colour), stroke: paint(edge), "stroke-width": .9});
  },
  g: (episode, x, y, group) => shape("g", {transform: `translate(${x} ${y})`}, drawMark(episode, group)),
  n: (episode, numbers) => shape("g", {}, numbers.map(number => drawMark(episode, number))),
};
function drawMark(episode, number) {
  const [kind, ...rest] = episode.marks[number];
  return DRAW[kind](episode, ...rest);
}
/**
 * Draws marks, given by their numbers, into the pane's picture, and only what is not there already.
 * A pane has a `picture` (an SVG), an `episode` (with `marks` and `sprites`), and what was `drawn`
 * as which `marks` before.
 */
function drawMarks(pane, marks, height) {
  const {episode, picture} = pane, old = pane.drawn;
  const shorter = Math.min(old.length, marks.length), aligned = old.length === marks.length;
  let start = 0, end = 0;
  while (start < shorter && old[start] === marks[start]) start++;
  while (end < shorter - start && old[old.length - 1 - end] === marks[marks.length - 1 - end]) end++;
  const nodes = marks.slice(start, marks.length - end).map((number, place) =>
    aligned && old[start + place] === number ? pane.marks[start + place] : drawMark(episode, number));
  const going = pane.marks.splice(start, old.length - end - start, ...nodes);
  const kept = new Set(nodes), after = pane.marks[start + nodes.length] || null;
  for (const node of going) if (!kept.has(node)) node.remove();
  picture.insertBefore(nodes.reduce((all, node) => (all.append(node), all), document.createDocumentFragment()), after);
  pane.drawn = marks;
  picture.setAttribute("viewBox", `0 0 640 ${height}`);
}
