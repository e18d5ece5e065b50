// One match: a seat at its table, or a spectator's chair.
import {$, address, ask, brief, button, keepSeat, keepSetting, make, seatOf, serverToken, setting, shape} from "./dom.js";
import {shortName} from "./gallery.js";
import {Invitation, sharedLink} from "./invitation.js";
import {callings, named, namedNodes} from "./names.js";
import {call, click, families, fewActions, keysOf, movesAt, movesWith, targets} from "./moves.js";

const secondsUntil = time => Math.max(0, Math.ceil((time - performance.now()) / 1000));
const minutes = seconds => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
const SHOW = ["legal_texts", "picture", "table", "forms"];
const LINES = 400;  // of the transcript, shown at once
const FEW = 80;  // moves shown as buttons before more is typed

/** Show a match; the result closes it. */
export function openMatch(asked) {
  const kept = asked.seat === undefined ? null : seatOf(asked.match, Number(asked.seat));
  if (asked.seat !== undefined && !kept) {
    $("main").className = "lobby";
    $("main").append(make("section", {class: "card"}, make("p", {class: "problem", role: "alert"}, "This browser does not have this seat. Whoever takes a seat can return to it in the browser where they took it.")));
    return () => {};
  }
  return new MatchPage(asked, kept).open();
}

class MatchPage {
  constructor(asked, kept) {
    Object.assign(this, {asked, kept, view: null, cursor: 0, life: 0, legal: [], keys: {}, chosen: [], pending: null, sending: false, closed: false, wait: 500, deadline: null, fields: new Map(), shown: "", events: [], called: new Map()});
  }
  get seated() { return this.kept !== null; }

  open() {
    this.draw();
    this.connect();
    const pressed = event => this.press(event), ticking = setInterval(() => this.tick(), 250);
    document.addEventListener("keydown", pressed);
    return () => {
      this.closed = true;
      this.socket.close();
      clearInterval(ticking);
      document.removeEventListener("keydown", pressed);
    };
  }

  // The connection

  connect() {
    const socket = this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    const sit = this.seated ? {do: "sit", token: this.kept.token} : {do: "watch", match: this.asked.match, token: this.asked.watch || this.asked.invite || ""};
    socket.onopen = () => { this.wait = 500; this.lost.hidden = true; socket.send(JSON.stringify({...sit, handle: 1, since: this.cursor, show: SHOW, live: true})); };
    socket.onmessage = event => { for (const told of [JSON.parse(event.data)].flat()) this.take(told); };
    socket.onclose = () => {
      if (this.closed) return;
      this.sending = false;
      this.lost.hidden = false;
      setTimeout(() => { if (!this.closed) this.connect(); }, this.wait);
      this.wait = Math.min(5000, this.wait * 2);
    };
  }
  take(told) {
    if (told.error !== undefined && told.status === undefined) { this.refuse(told.error); return; }
    const view = {turn: 0, cursor: 0, number: 0, your_turn: false, events: [], position: "", legal: "", legal_texts: [], forms: null, life: 0, error: "", returns: 0, result: "", ...told};
    if (view.rules) this.rules = view.rules;
    if (view.life !== this.life) { this.life = view.life; this.events = []; this.log.replaceChildren(); }
    const turn = view.your_turn && (view.number !== this.view?.number || !this.view.your_turn);
    this.view = view;
    this.cursor = view.cursor;
    this.legal = view.legal_texts || [];
    this.keys = view.your_turn ? keysOf(this.legal) : {};
    this.sending = false;
    this.deadline = view.seconds_left === undefined ? null : performance.now() + 1000 * view.seconds_left;
    if (turn || !view.your_turn) { this.chosen = []; this.pending = null; this.note(view.error); }
    if (turn) { this.typed.value = ""; this.fields.clear(); }
    this.call(callings(view.table));
    this.tell(view.events);
    this.show();
  }
  /** Call people by these names from now on, in what was told before too. */
  call(called) {
    if (JSON.stringify([...called]) === JSON.stringify([...this.called])) return;
    this.called = called;
    this.offered = "";
    this.log.replaceChildren();
    this.tell(this.events.splice(0));
  }
  named(text) { return named(text, this.called); }
  refuse(reason) {
    this.sending = false;
    this.pending = null;
    if (!this.view) { this.lost.textContent = reason; this.lost.hidden = false; return; }
    this.note(reason);
    this.show();
  }
  /** Send a move, or first show it where the person wants to confirm. */
  propose(text, confirmed = false) {
    if (!this.view?.your_turn || this.sending || !text.trim()) return;
    if (this.confirm.checked && !confirmed) {
      this.pending = text;
      this.show();
      return;
    }
    this.pending = null;
    this.chosen = [];
    if (this.socket.readyState !== WebSocket.OPEN) {
      this.note("The connection is lost; play when it is back.");
      this.show();
      return;
    }
    this.sending = true;
    this.note("");
    this.socket.send(JSON.stringify({do: "try", handle: 1, move: {number: this.view.number, text}}));
    this.show();
  }

  /** Give up; the first press asks whether it is meant. */
  resign() {
    if (this.resigning.textContent === "Resign") {
      this.resigning.textContent = "Really resign?";
      setTimeout(() => { this.resigning.textContent = "Resign"; }, 4000);
    } else this.socket.send(JSON.stringify({do: "resign", handle: 1}));
  }

  // Clicks and keys

  pick(name) {
    if (!this.view?.your_turn || this.sending) return;
    const meant = click(this.legal, this.chosen, name);
    this.note(meant ? "" : `No legal move begins with ${name}.`);
    this.chosen = meant ? meant.chosen : [];
    this.pending = null;
    if (meant?.move) this.propose(meant.move);
    else this.show();
  }
  undo() { this.chosen = []; this.pending = null; this.typed.value = ""; this.note(""); this.show(); }
  press(event) {
    const {tagName} = event.target;
    if (event.key === "Escape" && !this.dialog.open) { this.undo(); return; }
    if (event.ctrlKey || event.altKey || event.metaKey || ["INPUT", "TEXTAREA", "SELECT", "BUTTON", "SUMMARY", "A"].includes(tagName)) return;
    if (event.key === "?") { this.showRules(); return; }
    const move = this.keys[event.key];
    if (move) { event.preventDefault(); this.propose(move); }
  }
  tick() {
    const left = this.deadline === null ? null : secondsUntil(this.deadline);
    this.clock.textContent = left === null ? "" : minutes(left);
    this.clock.className = left !== null && left <= 10 ? "clock late" : "clock";
    for (const clock of this.table.querySelectorAll(".left")) clock.textContent = clock.dataset.until ? minutes(secondsUntil(clock.dataset.until)) : "";
  }

  // Looks

  draw() {
    this.status = make("span", {class: "status", id: "status"});
    this.clock = make("span", {class: "clock", id: "clock", role: "timer", "aria-label": "time left"});
    this.picture = shape("svg", {role: "img", id: "board"});
    this.lost = make("p", {class: "problem", role: "alert", hidden: true}, "The connection is lost; trying again.");
    this.end = make("div", {class: "ending", id: "ending", hidden: true});
    this.words = make("pre", {});
    this.inWords = make("details", {class: "words"}, [make("summary", {}, "The position in words"), this.words]);
    this.table = make("ul", {class: "people", id: "people"});
    this.invites = make("section", {class: "card", id: "invites", "aria-label": "Invitation", hidden: true});
    this.invitation = new Invitation(this.asked);
    this.watchers = make("div", {class: "invites", id: "watchers"});
    this.said = make("p", {class: "note", role: "alert", id: "note"});
    this.typed = make("input", {id: "typed", "aria-label": "Type a move", placeholder: "or type a move", autocomplete: "off", oninput: () => this.showMoves()});
    this.offer = make("div", {class: "offer"});
    this.confirm = make("input", {type: "checkbox", id: "confirm", checked: Boolean(setting("confirm")), onchange: () => keepSetting("confirm", this.confirm.checked)});
    const typing = make("form", {class: "typing", onsubmit: event => { event.preventDefault(); this.propose(this.typed.value); }}, [this.typed, make("button", {}, "Play")]);
    this.selected = make("div", {class: "selected", id: "selected"});
    this.move = make("section", {class: "card move", "aria-label": "Your move", hidden: true}, [make("h2", {}, "Your move"), this.said, this.selected, this.offer, typing, make("label", {class: "check"}, [this.confirm, " Ask me before a move is sent"])]);
    this.log = make("div", {class: "log", id: "log", tabindex: 0, role: "log", "aria-label": "What you were told"});
    this.dialog = make("dialog", {class: "rules"});
    $("main").className = "table";
    $("main").append(
      make("section", {class: "boardside", "aria-label": "Board"}, [this.lost, this.invites, make("div", {class: "board", hidden: true}, this.picture), this.inWords]),
      make("div", {class: "side"}, [this.end, make("section", {class: "card", "aria-label": "Table"}, [this.table, this.watchers]), this.move]),
      make("section", {class: "card told"}, [make("h2", {}, this.seated ? "What you were told" : "What everybody knows"), this.log]),
      this.dialog);
    $("tools").replaceChildren(this.status, this.clock, this.seated ? button("Rules", () => this.showRules(), {id: "rules", class: "plain"}) : "");
    this.reclaiming = button("Come back", () => this.socket.send(JSON.stringify({do: "reclaim", handle: 1})), {id: "reclaim", class: "plain", hidden: true});
    this.resigning = button("Resign", () => this.resign(), {id: "resign", class: "plain", hidden: true});
    $("tools").append(this.reclaiming, this.resigning);
    this.picture.addEventListener("pointerdown", event => this.pointed(event));
    this.picture.addEventListener("pointerup", event => this.dropped(event));
  }
  note(text) { this.said.textContent = text; this.said.hidden = !text; }
  showRules() {
    this.dialog.replaceChildren(make("pre", {}, this.rules || ""), make("form", {method: "dialog"}, make("button", {class: "strong"}, "Close")));
    this.dialog.showModal();
  }
  tell(events) {
    if (!events.length) return;
    this.events = [...this.events, ...events].slice(-LINES);
    this.log.append(...events.map(event => make("p", {}, namedNodes(event.text, this.called))));
    while (this.log.childElementCount > LINES) this.log.firstChild.remove();
    this.log.scrollTop = this.log.scrollHeight;
  }
  show() {
    const {view} = this;
    if (!view) return;
    const env = view.table.env;
    $("title").textContent = shortName(env);
    const status = this.statusText(view);
    this.status.textContent = status;
    this.status.className = view.your_turn ? "status due" : "status";
    if (status !== this.shown) { $("spoken").textContent = status; this.shown = status; }
    document.title = `${view.your_turn ? "● " : ""}${status} – ${$("title").textContent}`;
    this.words.textContent = this.named(view.position);
    this.inWords.hidden = !view.position;
    this.showPicture(view);
    this.showTable(view);
    this.showMoves();
    this.resigning.hidden = !this.seated || view.status !== "playing" || Boolean(view.away);
    this.reclaiming.hidden = !this.seated || view.status !== "playing" || !view.away || view.away === "resigned";
    this.showEnd(view);
    this.tick();
  }
  statusText(view) {
    if (view.status === "over") return this.seated ? outcomeText(view) : "The match is over";
    if (view.status === "waiting") return "Waiting for players";
    if (!this.seated) return `Watching, turn ${view.turn}`;
    if (view.away) return view.away === "resigned" ? "You resigned" : "A substitute plays for you";
    return view.your_turn ? (this.sending ? "Sending…" : "Your turn") : "Waiting for the others";
  }
  showPicture(view) {
    const {picture} = view, none = !picture || typeof drawMarks === "undefined";
    this.picture.parentNode.hidden = none;
    $("main").classList.toggle("talking", none || (!picture.places && picture.height < 300));
    if (none) { this.inWords.open = true; return; }
    this.picture.replaceChildren();
    const pane = {picture: this.picture, episode: {marks: picture.table, sprites: picture.sprites}, drawn: [], marks: []};
    drawMarks(pane, picture.marks, picture.height);
    this.picture.setAttribute("aria-label", this.named(view.position) || "The board");
    if (view.your_turn) this.showPlaces(picture.places || []);
  }
  showPlaces(places) {
    const next = new Set(targets(this.legal, this.chosen, places.map(place => place[4])));
    const useful = name => name && (this.chosen.includes(name) || movesAt(this.legal, [...this.chosen, name]).length || movesAt(this.legal, [name]).length);
    const shown = places.filter(place => useful(place[4]));
    const boxes = shown.map(([x, y, width, height, name]) =>
      shape("rect", {x: x + 2, y: y + 2, width: width - 4, height: height - 4, rx: 4, class: `place${this.chosen.includes(name) ? " chosen" : next.has(name) ? " target" : ""}`, "data-name": name}, shape("title", {}, name)));
    const dots = shown.filter(place => next.has(place[4])).map(([x, y, width, height]) =>
      shape("circle", {cx: x + width / 2, cy: y + height / 2, r: Math.max(4, Math.min(width, height) / 7), class: "targetdot"}));
    this.picture.append(shape("g", {class: "places"}, [...boxes, ...dots]));
  }
  pointed(event) {
    const name = event.target.dataset?.name;
    this.from = name;
    if (name) { event.preventDefault(); this.pick(name); }
  }
  /** A piece that was dragged from one place to another. */
  dropped(event) {
    const name = document.elementFromPoint(event.clientX, event.clientY)?.dataset?.name;
    if (name && this.from && name !== this.from && this.chosen.includes(this.from)) this.pick(name);
    this.from = null;
  }
  showTable(view) {
    this.table.replaceChildren(...view.table.seats.map((one, seat) => {
      const me = seat === view.seat, sits = one.free ? "free" : one.called ? one.player : one.name === String(seat) ? "a guest" : one.name;
      const notes = [sits, one.away && "has left", me && "you"].filter(Boolean).join(", ");
      const result = view.status === "over" && one.result ? `${one.result}${one.score === undefined ? "" : ` ${brief(one.score)}`}` : one.returns === undefined ? "" : brief(one.returns);
      return make("li", {class: `${one.acting ? "acting" : ""}${me ? " me" : ""}`}, [
        shape("svg", {class: "dot", viewBox: "0 0 12 12", "aria-hidden": "true"}, shape("circle", {cx: 6, cy: 6, r: 5, fill: `var(--c-seat${seat % 8}, currentColor)`})),
        make("span", {class: "who"}, [make("b", {}, make("bdi", {}, one.called || one.player)), " ", make("bdi", {class: "soft"}, notes)]), make("span", {class: "clock left", "data-until": one.seconds_left === undefined || me ? "" : performance.now() + 1000 * one.seconds_left}), make("output", {}, result)]);
    }));
    this.tick();
    this.showInvites(view);
  }
  showInvites(view) {
    const free = view.table.seats.some(one => one.free), known = this.kept || this.asked, {match} = view, title = `Play ${shortName(view.table.env)}`;
    const joins = free && !this.seated && (this.asked.invite || !this.asked.watch);
    const sends = free && known.invite && (this.seated || this.asked.watch);  // who was asked by a link need not send it
    const watches = known.watch && view.status !== "over";
    if (joins) this.invitation.show(view);
    const key = JSON.stringify([joins, sends, watches]);
    if (key === this.invited) return;  // what is typed there stays
    this.invited = key;
    this.invites.replaceChildren(...(joins ? [this.invitation.card] : []), ...(sends ? [sharedLink("Send this link to a friend, who takes a seat with it", {match, invite: known.invite}, "invite", title)] : []));
    this.invites.hidden = !joins && !sends;
    this.watchers.replaceChildren(...(watches ? [make("details", {}, [make("summary", {}, "Invite spectators"), sharedLink("Send this link to who shall watch", {match, watch: known.watch}, "watch", title)])] : []));
  }

  // What the person may do now

  showMoves() {
    const {view} = this;
    this.move.hidden = !this.seated || !view.your_turn;
    if (this.move.hidden) return;
    this.move.classList.toggle("sending", this.sending);
    this.showSelected();
    const chosen = this.chosen.length ? movesAt(this.legal, this.chosen) : this.legal;
    const forms = view.forms && !this.chosen.length;
    const found = this.typed.value ? movesWith(chosen, this.typed.value) : chosen;
    const keyed = Object.entries(this.keys).map(([key, move]) => make("span", {}, [make("kbd", {}, NAMES[key] || key), ` ${this.named(move)}`]));
    const parts = keyed.length ? [make("p", {class: "keys soft"}, keyed)] : [];
    if (forms) parts.push(...this.forms(view.forms));
    else if (found.length) parts.push(this.buttons(found));
    else if (!view.forms) parts.push(make("p", {class: "soft"}, this.legal.length ? "No legal move has this in it." : view.legal));
    const key = JSON.stringify([view.number, forms ? "forms" : found, this.sending]);
    if (key !== this.offered) this.offer.replaceChildren(...parts);  // what is typed in a field stays
    this.offered = key;
  }
  showSelected() {
    const text = this.pending ?? this.chosen.join(" → ");
    this.selected.hidden = !text;
    this.selected.replaceChildren(...(text ? [make("b", {}, this.named(text)), this.pending === null ? "" : button("Send", () => this.propose(this.pending, true), {class: "strong", id: "send"}), button("Undo", () => this.undo(), {id: "undo"})] : []));
  }
  buttons(moves) {
    const {single, ranges} = families(moves);
    const shown = single.slice(0, FEW).map(move => button(this.named(move), () => this.propose(move), {class: "choice", disabled: this.sending}));
    const more = single.length > FEW ? [make("span", {class: "soft"}, `and ${single.length - FEW} more: click on the board, or type`)] : [];
    return make("div", {}, [make("div", {class: "choices"}, [...shown, ...more]), ...ranges.map(range => this.range(range))]);
  }
  /** Moves such as "raise to 12", chosen by their number. */
  range({stem, numbers}) {
    const field = {kind: "number", name: stem.trim(), low: Math.min(...numbers), high: Math.max(...numbers)}, number = input(field, stem, this.fields);
    const act = event => { event.preventDefault(); this.propose(`${stem}${number.value}`); };
    return make("form", {class: "option", onsubmit: act}, [make("button", {}, stem.trim()), number, make("span", {class: "soft"}, `${field.low} to ${field.high}`)]);
  }
  forms(forms) {
    return forms.map((form, place) => {
      const few = fewActions(form), title = spoken(form.name);
      if (few && !form.fields.length) return make("div", {class: "choices"}, button(title, () => this.propose(few[0][1]), {class: "choice"}));
      if (few) return make("div", {class: "option"}, [make("h3", {}, `${title}: ${spoken(form.fields[0].name)}`), make("div", {class: "choices"}, few.map(([text, action]) => button(this.named(text), () => this.propose(action), {class: "choice"})))]);
      const inputs = form.fields.map(field => input(field, `${place} ${field.name}`, this.fields, this.called));
      const act = event => { event.preventDefault(); this.propose(call(form, inputs.map(one => one.value))); };
      const labels = form.fields.map((field, at) => make("label", {class: field.kind}, [field.name === "text" ? "" : make("span", {class: "soft"}, `${spoken(field.name)} `), inputs[at]]));
      return make("form", {class: "option", "data-action": form.name, onsubmit: act}, [make("div", {class: "fields"}, labels), make("button", {}, title)]);
    });
  }

  // The end

  showEnd(view) {
    if (view.status !== "over" || !this.end.hidden) return;
    const name = `${view.table.env.replace(/.*\//, "")}-${view.match}`, says = this.seated ? outcomeText(view) : "The match is over";
    const said = make("p", {class: "problem", role: "alert"});
    const save = async form => {
      try { await download(this.kept, this.asked, form, name); } catch (error) { said.textContent = error.message; }
    };
    this.end.hidden = false;
    this.end.replaceChildren(
      make("p", {class: "verdict"}, says), view.ending ? make("p", {class: "soft"}, namedNodes(view.ending, this.called)) : "",
      make("div", {class: "fields"}, [
        this.seated ? button("Play again", event => this.again(event.target, said), {class: "strong", id: "again"}) : "",
        button("Save the record", () => save("jsonl"), {id: "record"}), button("Save a replay", () => save("html"), {id: "replay"}),
        make("a", {class: "button", href: "#"}, "Lobby")]), said);
    if (this.seated) keepSeat({...this.kept, env: view.table.env, over: view.result || "over"});
  }
  async again(pressed, said) {
    pressed.disabled = true;
    try {
      const next = await ask("/seat/again", {body: {token: serverToken()}, token: this.kept.token});
      keepSeat({...next, name: this.kept.name, env: this.view.table.env});
      location.hash = address({match: next.match, seat: next.seat});
    } catch (error) {
      said.textContent = error.message;
      pressed.disabled = false;
    }
  }
}

const NAMES = {ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "space"};
const VERDICTS = {win: "You win", loss: "You lose", draw: "A draw", forfeit: "You forfeited"};
function outcomeText(view) {
  const verdict = VERDICTS[view.result] || (view.truncated ? "The match was cut off" : "The match is over");
  return view.score === undefined || view.result in VERDICTS ? verdict : `${verdict}: ${brief(view.score)}`;
}
const spoken = name => name.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2");
function input(field, key, kept, called = new Map()) {
  const remember = event => kept.set(key, event.target.value), common = {oninput: remember, onchange: remember, "data-field": field.name, "aria-label": spoken(field.name)};
  let made;
  if (field.kind === "choice") made = make("select", common, field.values.map(([value, text]) => make("option", {value}, named(text, called))));
  else if (field.kind === "number") made = make("input", {...common, type: "number", min: field.low, max: field.high, step: 1, required: true, value: field.low});
  else made = make("textarea", {...common, rows: 2, maxlength: field.limit || false, required: true});
  if (kept.has(key)) made.value = kept.get(key);
  return made;
}
async function download(kept, asked, form, name) {
  const query = form === "html" ? "?form=html" : "";
  const path = kept ? `/seat/record${query}` : `/matches/${encodeURIComponent(asked.match)}/record${query}`;
  const data = await ask(path, {token: kept ? kept.token : asked.watch || asked.invite, raw: true});
  const url = URL.createObjectURL(data);
  make("a", {href: url, download: `${name}.${form}`}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
