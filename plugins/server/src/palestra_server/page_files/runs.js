// The records of a folder: filters, and a link to each replay. The address keeps the filters.
import {$, brief, followTheme, make} from "./dom.js";

const asked = new URLSearchParams(location.hash.slice(1)), KEY = asked.get("key") || "";
const PORTION = 200;  // rows shown at once
const FILTERS = ["env", "agent", "outcome", "text"];
const ERROR = "ended in an error", OPEN = "not finished";
let rows = [], found = [], shown = 0;

const outcomesOf = row => row.error ? [ERROR] : row.results.length ? [...new Set(row.results)] : [OPEN];
function fits(row, {env, agent, outcome, text}) {
  if (env && row.env !== env || agent && !row.agents.includes(agent)) return false;
  if (text && !`${row.file} ${row.reason} ${row.error} ${row.agents.join(" ")} ${row.env} ${row.seed}`.toLowerCase().includes(text.toLowerCase())) return false;
  if (!outcome) return true;
  if (!agent || row.error || !row.results.length) return outcomesOf(row).includes(outcome);
  return row.results.some((result, seat) => row.agents[seat] === agent && result === outcome);
}
const ended = row => row.error || (row.results.length ? row.results.map((result, seat) => `${result} ${brief(row.returns[seat])}`).join(", ") : OPEN);
// A name in parts, between which a line may end: after a sign, so that no word is cut.
const parted = name => name.split(/(?<=[\/_\-.:,;=])/).flatMap((part, number) => number ? [make("wbr"), part] : [part]);
function showRow(row) {
  const link = make("a", {href: `/replay/${row.id}`}, [...parted(row.file), ` #${row.number}`]);
  return make("tr", {class: row.error ? "failed" : ""}, [
    make("td", {}, link), make("td", {}, parted(row.env)), make("td", {}, parted(row.agents.join(" – "))),
    make("td", {class: "number"}, String(row.seed)), make("td", {class: "number"}, String(row.steps)), make("td", {title: row.reason}, ended(row))]);
}
function showMore() {
  $("body").append(...found.slice(shown, shown + PORTION).map(showRow));
  shown = Math.min(found.length, shown + PORTION);
  $("more").hidden = shown === found.length;
}
function filter() {
  const wanted = Object.fromEntries(FILTERS.map(name => [name, $(name).value]));
  found = rows.filter(row => fits(row, wanted));
  shown = 0;
  $("count").textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} records`;
  $("body").replaceChildren();
  showMore();
  const kept = new URLSearchParams([["key", KEY], ...Object.entries(wanted).filter(([, value]) => value)]);
  history.replaceState(null, "", `#${kept}`);
}
function offer(name, values) {
  const counted = new Map();
  for (const value of values) counted.set(value, (counted.get(value) || 0) + 1);
  const options = [...counted].sort(([one], [two]) => one.localeCompare(two, "en", {numeric: true}));
  $(name).replaceChildren(make("option", {value: ""}, "all"), ...options.map(([value, times]) => make("option", {value}, `${value} (${times})`)));
  $(name).value = counted.has(asked.get(name)) ? asked.get(name) : "";
}
async function open() {
  const answer = await fetch("/open", {method: "POST", body: KEY});
  if (!answer.ok) { $("problem").textContent = await answer.text(); $("problem").hidden = false; return; }
  const told = await answer.json();
  rows = told.rows.map((row, id) => ({...row, id}));
  $("title").textContent = told.home;
  document.title = `${told.home} – records`;
  if (told.problems.length) {
    const count = told.problems.length;
    $("problem").textContent = count === 1 ? `A line could not be read: ${told.problems[0]}` : `${count} lines could not be read, the first: ${told.problems[0]}`;
    $("problem").hidden = false;
  }
  const head = ["record", "environment", "agents", "seed", "steps", "outcome and returns"];
  $("rows").replaceChildren(make("thead", {}, make("tr", {}, head.map(text => make("th", {scope: "col"}, text)))), make("tbody", {id: "body"}));
  offer("env", rows.map(row => row.env));
  offer("agent", rows.flatMap(row => [...new Set(row.agents)]));
  offer("outcome", rows.flatMap(outcomesOf));
  $("text").value = asked.get("text") || "";
  filter();
}
followTheme($("theme"));
for (const name of FILTERS) $(name).addEventListener("input", filter);
$("filters").addEventListener("submit", event => event.preventDefault());
$("more").addEventListener("click", showMore);
open();
