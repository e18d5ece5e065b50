// The lobby: seats of this browser, matches of this server, and opening one.
import {gallery, shortName} from "./gallery.js";
import {$, address, ask, keepServerToken, keepSeat, keepSetting, make, seats, serverToken, setting} from "./dom.js";

const ME = "you", OPEN = "open", OTHER = "other…", FIRST = "games/ConnectFour-v0";

export function openLobby() {
  document.title = "Palestra";
  $("title").textContent = "Play, invite, watch";
  const mine = make("section", {class: "card", hidden: true}), here = make("section", {class: "card"});
  const form = make("form", {class: "card opening", autocomplete: "off"}, make("p", {class: "soft"}, "Loading…"));
  $("main").className = "lobby";
  const choosing = make("div"), side = make("div", {}, [form, mine, here]);
  $("main").append(choosing, side);
  showMine(mine);
  ask("/page/choices.json").then(choices => showForm(choosing, form, choices), error => form.replaceChildren(problem(error)));
  const listing = () => ask("/matches").then(({matches}) => showHere(here, matches), error => here.replaceChildren(problem(error)));
  listing();
  const timer = setInterval(listing, 3000);
  return () => clearInterval(timer);
}
const problem = error => make("p", {class: "problem", role: "alert"}, error.message);

function showMine(section) {
  const mine = seats().slice(0, 6);
  section.hidden = !mine.length;
  section.replaceChildren(make("h2", {}, "Your seats"), make("ul", {class: "rows"}, mine.map(one => make("li", {}, [
    make("span", {class: "what"}, [make("b", {}, shortName(one.env)), make("span", {class: "soft"}, ` as ${one.name || one.player}${one.over ? `, ${one.over}` : ""}`)]),
    make("a", {class: "button", href: address({match: one.match, seat: one.seat})}, one.over ? "look" : "go on")]))));
}
function showHere(section, matches) {
  const rows = matches.map(one => make("li", {}, [
    make("span", {class: "what"}, [make("b", {}, shortName(one.env)), make("span", {class: "soft"}, one.free.length ? ` ${one.free.length} of ${one.seats} seats free` : ` turn ${one.turn}`)]),
    ...(one.free.length ? [make("a", {class: "button", href: address({match: one.match})}, "take a seat")] : [make("a", {class: "button", href: address({match: one.match})}, "watch")])]));
  const none = make("p", {class: "soft"}, "No match is listed. Those opened by link are not shown here.");
  section.replaceChildren(make("h2", {}, "Open to all"), rows.length ? make("ul", {class: "rows"}, rows) : none);
}

// Opening a match

function plays(agent, env) {
  return agent.plays.some(name => name === "*" || name === env || name === `${env.split("/")[0]}/*`);
}
function showForm(choosing, form, {environments, agents}) {
  if (!environments.length) { form.replaceChildren(make("p", {}, "This server offers nothing to play.")); return; }
  const byId = new Map(environments.map(one => [one.id, one]));
  let chosen = [setting("env"), FIRST].find(id => byId.has(id)) || environments[0].id;
  const title = make("h2", {id: "chosen"});
  const about = make("p", {class: "soft about"}), many = make("input", {type: "number", id: "many", name: "many"});
  const counting = make("label", {}, ["Seats ", many]), split = make("select", {name: "split", id: "split"});
  const splitting = make("label", {}, ["Variant ", split]), table = make("div", {class: "seating"});
  const name = make("input", {id: "name", name: "name", maxlength: 60, value: setting("name") || "", placeholder: "your name"});
  const seconds = make("input", {type: "number", id: "seconds", name: "seconds", min: 1, step: "any", placeholder: "none"});
  const listed = make("input", {type: "checkbox", id: "listed", name: "listed"});
  const token = make("input", {type: "password", id: "token", name: "token", value: serverToken()}), asked = make("label", {hidden: !serverToken()}, ["The server's token ", token]);
  const opening = make("button", {class: "strong", id: "open"}, "Open"), said = make("div"), options = make("details", {class: "options"});
  const seat = () => {
    const env = byId.get(chosen), count = Math.max(1, Math.min(Number(many.value) || 1, 300));
    const before = [...table.querySelectorAll("select")].map(one => one.value);
    const fitting = agents.filter(agent => plays(agent, env.id));
    const rows = Array.from({length: count}, (_, at) => seatRow(at, fitting, before[at] || (at === 0 ? ME : fitting.some(one => one.name === "random") ? "random" : OPEN)));
    table.replaceChildren(...rows);
  };
  const choose = () => {
    const env = byId.get(chosen), [fewest, most] = env.players;
    title.textContent = `Open ${shortName(env.id)}`;
    about.textContent = env.summary;
    Object.assign(many, {min: fewest, max: most, value: env.seats});
    counting.hidden = fewest === most;
    const splits = Object.keys(env.splits);
    split.replaceChildren(make("option", {value: ""}, "usual"), ...splits.map(one => make("option", {value: one}, one)));
    splitting.hidden = !splits.length;
    options.hidden = !env.options.length;
    options.open = false;
    options.replaceChildren(make("summary", {}, "Options"), ...env.options.map(optionField));
    seat();
  };
  many.addEventListener("change", seat);
  split.addEventListener("change", () => {
    const env = byId.get(chosen);
    many.value = env.splits[split.value] ?? env.seats;
    seat();
  });
  form.replaceChildren(
    title, about,
    make("div", {class: "fields"}, [counting, splitting]), options, table,
    make("div", {class: "fields"}, [make("label", {}, ["Your name ", name]), make("label", {}, ["Seconds for a move ", seconds])]),
    make("label", {class: "check"}, [listed, " Show it in the lobby, so that anybody here can take an open seat"]), asked, said,
    opening);
  choose();
  choosing.replaceChildren(gallery(environments, chosen, (env, done) => {
    chosen = env;
    choose();
    if (!done) return;
    form.scrollIntoView({block: "nearest"});
    opening.focus({preventScroll: true});
  }));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    keepSetting("name", name.value);
    keepSetting("env", chosen);
    if (token.value) keepServerToken(token.value);
    try {
      await openOne({env: chosen, split: split.value || null, options: chosenOptions(options), seats: lineUp(table), name: name.value, public: listed.checked, move_seconds: Number(seconds.value) || null});
    } catch (error) {
      const barred = error.status === 401 || error.status === 403;
      if (barred) asked.hidden = false;
      said.replaceChildren(problem(barred ? new Error("Opening a match here takes the server's token; whoever started the server has it.") : error));
    }
  });
}
function optionField({name, accepts, default: usual, description}) {
  return make("label", {}, [make("span", {}, name.replace(/_/g, " ")), make("input", {name, placeholder: usual, title: accepts}), make("small", {}, description)]);
}
/** The options that were filled in, numbers and lists as JSON has them. */
function chosenOptions(options) {
  const filled = [...options.querySelectorAll("input")].filter(one => one.value.trim());
  return Object.fromEntries(filled.map(one => [one.name, optionValue(one.value.trim())]));
}
const WORDS = {True: true, False: false, None: null};
function optionValue(text) {
  if (text in WORDS) return WORDS[text];
  try { return JSON.parse(text.replace(/^\((.*?),?\)$/, "[$1]").replace(/'/g, '"')); } catch { return text; }
}
function seatRow(at, agents, value) {
  const choices = [[ME, "you"], [OPEN, "a person, by link"], ...agents.map(one => [one.name, one.name]), [OTHER, OTHER]];
  const typed = make("input", {class: "typed", "aria-label": `Agent of seat ${at + 1}`, placeholder: "mcts:simulations=200", hidden: value !== OTHER});
  const select = make("select", {"aria-label": `Seat ${at + 1}`, onchange: () => { typed.hidden = select.value !== OTHER; }},
    choices.map(([name, text]) => make("option", {value: name, title: agents.find(one => one.name === name)?.summary}, text)));
  select.value = choices.some(([name]) => name === value) ? value : OPEN;
  return make("div", {class: "seatrow"}, [make("span", {class: "soft"}, `Seat ${at + 1}`), select, typed]);
}
const lineUp = table => [...table.children].map(row => row.querySelector("select").value === OTHER ? row.querySelector("input").value.trim() || OPEN : row.querySelector("select").value);

async function openOne({seats: chosen, name, ...plan}) {
  const me = chosen.indexOf(ME), line = chosen.map(one => one === ME ? OPEN : one);
  const opened = await ask("/matches", {body: {...plan, seats: line}, token: serverToken()});
  if (me < 0) { location.hash = address(opened); return; }
  await takeSeat({...opened, seat: me, name});
}
/** Take a seat and go there; `seat` null takes any that is free. */
export async function takeSeat({match, seat, name, invite, watch, env}) {
  const place = `join ${match} ${seat}`;
  const key = sessionStorage.getItem(place) || [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem(place, key);  // asked again after a lost answer, it is the same seat
  const taken = await ask(`/matches/${encodeURIComponent(match)}/join`, {body: {seat, name, invite: invite || "", key}});
  sessionStorage.removeItem(place);
  keepSeat({...taken, name, env: env || setting("env") || "", invite, watch});
  location.hash = address({match, seat: taken.seat});
}

