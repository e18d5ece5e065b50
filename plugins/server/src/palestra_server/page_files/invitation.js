// Links to a match: sent by who is there, followed by who is asked.
import {$, button, keepSetting, link, make, setting} from "./dom.js";
import {shortName, showPicture} from "./gallery.js";
import {takeSeat} from "./lobby.js";

const SEEDED = "Whoever opened it chose the seed, and can know what is dealt.";
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
/** A link with what sends it: copied, or handed to the browser's own sheet where it has one. */
export function sharedLink(text, parts, kind, title) {
  const url = link(parts), shown = make("input", {readonly: true, value: url, class: "link", id: `${kind}-link`, "aria-label": text});
  const copy = button("Copy", async () => {
    shown.select();
    let copied = false;
    try { await navigator.clipboard.writeText(url); copied = true; } catch { copied = document.execCommand("copy"); }
    copy.textContent = copied ? "Copied" : "Copy";
    $("spoken").textContent = copied ? "The link is copied" : "The link is selected, to be copied by hand";
  }, {id: `${kind}-copy`});
  const share = navigator.share ? button("Share…", async () => {
    try { await navigator.share({title, url}); } catch { /* nothing was sent */ }
  }, {id: `${kind}-share`}) : "";
  return make("div", {class: "shared"}, [make("span", {}, text), make("div", {class: "fields"}, [shown, copy, share]),
    LOOPBACK.includes(location.hostname) ? make("small", {class: "soft"}, "It works on this computer alone: for others, start the server with --host and open this page by that address.") : ""]);
}

/** What a person is asked to: the game, its picture, who sits there, and a seat to take. */
export class Invitation {
  constructor(asked) {
    this.asked = asked;
    this.name = make("input", {id: "name", maxlength: 60, value: setting("name") || "", placeholder: "your name", "aria-label": "Your name", autocomplete: "nickname"});
    this.seat = make("select", {id: "seat", "aria-label": "Seat"});
    this.said = make("p", {class: "problem", role: "alert"});
    this.frame = make("div", {class: "frame"});
    this.title = make("h2", {id: "invited"});
    this.about = make("p", {class: "soft"});
    const form = make("form", {class: "joining", onsubmit: event => this.join(event)}, [this.name, this.seat, make("button", {class: "strong", id: "join"}, "Take a seat"), this.said]);
    this.card = make("div", {class: "invitation"}, [this.frame, make("div", {}, [this.title, this.about, form])]);
  }
  show(view) {
    const {env, seats, summary, seeded} = view.table, free = seats.flatMap((one, seat) => one.free ? [seat] : []);
    const host = seats.find((one, seat) => one.open && !one.free && one.name !== String(seat)), game = shortName(env);
    this.title.replaceChildren(...(host ? [make("bdi", {}, host.name), ` invites you to play ${game}`] : [this.asked.invite ? `You are invited to play ${game}` : `Play ${game}`]));
    this.about.textContent = [summary, seeded && SEEDED].filter(Boolean).join(" ");
    const before = this.seat.value;
    this.seat.replaceChildren(make("option", {value: ""}, "any seat"), ...free.map(one => make("option", {value: one}, seats[one].player)));
    this.seat.value = free.map(String).includes(before) ? before : "";
    this.seat.hidden = free.length < 2;
    this.match = view.match;
    if (this.env !== env) showPicture(this.frame, this.env = env);
  }
  async join(event) {
    event.preventDefault();
    keepSetting("name", this.name.value);
    try {
      await takeSeat({match: this.match, seat: this.seat.value === "" ? null : Number(this.seat.value), name: this.name.value, invite: this.asked.invite, watch: this.asked.watch, env: this.env});
    } catch (error) { this.said.textContent = error.message; }
  }
}
