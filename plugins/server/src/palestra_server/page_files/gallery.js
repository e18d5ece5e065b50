// The environments of the lobby: pictures to choose from, found by words and by groups.
import {ask, button, make, shape} from "./dom.js";

export const shortName = env => env.replace(/^[^/]*\//, "").replace(/-v\d+$/, "").replace(/([a-z])([A-Z])/g, "$1 $2");
const EVERYTHING = "All";
const LOWEST = 60;  // of a picture; a lower one is a line of text, which nobody can read so small

/** What is searched, in lower case. */
const wordsOf = one => [shortName(one.id), one.id, one.summary, one.family, one.group, ...one.tags].join(" ").toLowerCase().replace(/-/g, " ");
/** The environments that have every typed word, those first whose name begins so. */
export function found(environments, typed, group = EVERYTHING) {
  const words = typed.toLowerCase().replace(/-/g, " ").split(/\s+/).filter(Boolean), begin = words.join(" ");
  const here = environments.filter(one => (group === EVERYTHING || one.group === group) && words.every(word => wordsOf(one).includes(word)));
  const named = one => begin && shortName(one.id).toLowerCase().startsWith(begin) ? 0 : 1;
  return here.sort((a, b) => named(a) - named(b) || a.id.localeCompare(b.id));
}

/** Draw an environment's picture into a frame; where there is none, the frame says its name. */
export async function showPicture(frame, env) {
  let picture = null;
  try { picture = await ask(`/page/pictures/${env}`); } catch { /* the name is shown */ }
  if (!(picture?.height >= LOWEST) || typeof drawMarks === "undefined") { frame.replaceChildren(make("span", {}, shortName(env))); return; }
  const svg = shape("svg", {"aria-hidden": "true"});
  drawMarks({picture: svg, episode: {marks: picture.table, sprites: picture.sprites}, drawn: [], marks: []}, picture.marks, picture.height);
  frame.replaceChildren(svg);
}

/** A section in which one environment is chosen; `chosen(env, done)` is called, `done` if the person goes on. */
export function gallery(environments, first, chosen) {
  const search = make("input", {type: "search", id: "search", placeholder: "name, topic or tag", "aria-controls": "envs", autocomplete: "off"});
  const groups = make("div", {class: "groups", role: "group", "aria-label": "Kinds"}), told = make("p", {class: "soft", role: "status", id: "found"});
  const list = make("div", {class: "tiles", id: "envs", role: "radiogroup", "aria-label": "Environments"});
  const seen = new IntersectionObserver(entries => {
    for (const {target, isIntersecting} of entries) if (isIntersecting) { seen.unobserve(target); showPicture(target, target.dataset.env); }
  }, {root: list, rootMargin: "200px"});
  const tiles = new Map(environments.map(one => [one.id, tile(one, one.id === first, chosen)]));
  for (const one of tiles.values()) seen.observe(one.querySelector(".frame"));
  let group = EVERYTHING;
  const show = () => {
    const shown = found(environments, search.value, group);
    list.replaceChildren(...shown.map(one => tiles.get(one.id)));
    list.scrollTop = 0;
    told.textContent = shown.length ? `${shown.length} of ${environments.length}` : "Nothing has all of these words. Try fewer, or another kind.";
  };
  const names = [EVERYTHING, ...new Set(environments.map(one => one.group))];
  const buttons = names.map(name => button(name, () => {
    group = name;
    for (const one of buttons) one.setAttribute("aria-pressed", one.textContent === name);
    show();
  }, {class: "kind", "aria-pressed": String(name === EVERYTHING)}));
  if (names.length > 2) groups.append(...buttons);
  search.addEventListener("input", show);
  search.addEventListener("keydown", event => {
    const radio = list.querySelector("input:checked") || list.querySelector("input");
    if (!radio || !["ArrowDown", "Enter"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "ArrowDown") radio.focus();
    else take(list.querySelector("input"), chosen, true);
  });
  show();
  return make("section", {class: "card gallery", "aria-label": "Choose a game"}, [make("label", {class: "search"}, ["Find a game ", search]), groups, told, list]);
}
function take(radio, chosen, done) {
  radio.checked = true;
  chosen(radio.value, done);
}
function tile(one, checked, chosen) {
  const radio = make("input", {type: "radio", name: "env", value: one.id, class: "unseen", checked, "aria-label": `${shortName(one.id)}: ${one.summary}`});
  radio.addEventListener("change", () => chosen(one.id, false));
  radio.addEventListener("keydown", event => { if (event.key === "Enter") take(radio, chosen, true); });
  const seats = one.players[0] === one.players[1] ? one.players[0] : `${one.players[0]}–${one.players[1]}`;
  return make("label", {class: "tile", title: one.summary, onclick: event => { if (event.detail) take(radio, chosen, true); }}, [
    radio, make("div", {class: "frame", "data-env": one.id}), make("b", {}, shortName(one.id)), make("span", {class: "soft"}, `${seats} ${one.players[1] === 1 ? "player" : "players"}`)]);
}
