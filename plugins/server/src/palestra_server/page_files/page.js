// Which part of the page the address asks for: the lobby, or a match.
import {$, followTheme} from "./dom.js";
import {openLobby} from "./lobby.js";
import {openMatch} from "./seat.js";

let close = () => {};

function follow() {
  const asked = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  close();
  $("main").replaceChildren();
  $("tools").replaceChildren();
  $("title").textContent = "";
  scrollTo(0, 0);
  close = asked.match ? openMatch(asked) : openLobby();
}

followTheme($("theme"));
window.addEventListener("hashchange", follow);
follow();
