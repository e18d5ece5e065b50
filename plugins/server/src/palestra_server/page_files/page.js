// Which part of the page the address asks for: the lobby, or a match.
import {$, keepSetting, setting} from "./dom.js";
import {openLobby} from "./lobby.js";
import {openMatch} from "./seat.js";

let close = () => {};

function follow() {
  const asked = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  close();
  $("main").replaceChildren();
  $("tools").replaceChildren();
  $("title").textContent = "";
  close = asked.match ? openMatch(asked) : openLobby();
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = () => { document.documentElement.dataset.theme = setting("theme") || (dark.matches ? "dark" : "light"); };
$("theme").addEventListener("click", () => {
  keepSetting("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  setTheme();
});
dark.addEventListener("change", setTheme);
setTheme();
window.addEventListener("hashchange", follow);
follow();
