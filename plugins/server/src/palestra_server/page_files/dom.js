// What every part of the page uses. Everything shown comes through textContent or setAttribute: no
// text is ever read as a tag.
const SVG = "http://www.w3.org/2000/svg";
export const $ = id => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  for (const child of [children].flat()) if (child !== "" && child != null) node.append(child);
  return node;
}
export const make = (tag, attributes = {}, children = "") => fill(document.createElement(tag), attributes, children);
export const shape = (tag, attributes = {}, children = "") => fill(document.createElementNS(SVG, tag), attributes, children);
export const button = (text, onclick, more = {}) => make("button", {type: "button", onclick, ...more}, text);
export const brief = number => Number(number).toLocaleString("en", Math.abs(number) < 1000 ? {maximumSignificantDigits: 4} : {maximumFractionDigits: 1}).replace("-", "−");

export class Refusal extends Error {
  constructor(message, status) { super(message); this.status = status; }
}
/** Ask the server; raises `Refusal` with its reason. */
export async function ask(path, {body, token, raw} = {}) {
  const headers = {...(token ? {Authorization: `Bearer ${token}`} : {}), ...(body ? {"Content-Type": "application/json"} : {})};
  const answer = await fetch(path, {method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), credentials: "omit"});
  if (answer.ok) return raw ? answer.blob() : answer.json();
  let said = {error: `the server answered ${answer.status}`};
  try { said = await answer.json(); } catch { /* no reason was given */ }
  throw new Refusal(said.error, answer.status);
}

// What this browser remembers: its seats by match, and settings. No address holds a seat's token.

function remembered(name) {
  try { return JSON.parse(localStorage.getItem(name)) || {}; } catch { return {}; }
}
const MOST_SEATS = 60;
export const seats = () => Object.values(remembered("palestra.seats")).sort((a, b) => b.when - a.when);
export const seatOf = (match, seat) => remembered("palestra.seats")[`${match} ${seat}`];
export function keepSeat(seat) {
  const kept = [{...seat, when: Date.now()}, ...seats().filter(one => one.match !== seat.match || one.seat !== seat.seat)];
  localStorage.setItem("palestra.seats", JSON.stringify(Object.fromEntries(kept.slice(0, MOST_SEATS).map(one => [`${one.match} ${one.seat}`, one]))));
}
export const setting = name => remembered("palestra.settings")[name];
export const keepSetting = (name, value) => localStorage.setItem("palestra.settings", JSON.stringify({...remembered("palestra.settings"), [name]: value}));

export const address = parts => `#${new URLSearchParams(parts)}`;
export const link = parts => `${location.origin}/${address(parts)}`;
export const serverToken = () => sessionStorage.getItem("palestra.server") || "";
export const keepServerToken = token => sessionStorage.setItem("palestra.server", token);

/** Light or dark, as the system has it until the button says otherwise. */
export function followTheme(toggle) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = () => { document.documentElement.dataset.theme = setting("theme") || (dark.matches ? "dark" : "light"); };
  toggle.addEventListener("click", () => {
    keepSetting("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    set();
  });
  dark.addEventListener("change", set);
  set();
}
