// Names of people in place of those of their players, in everything that is shown.
import {make} from "./dom.js";

const PLAYER = /\b(player_\d+)\b/;
/** By player, what the table calls them. */
export const callings = table => new Map(table.seats.filter(one => one.called).map(one => [one.player, one.called]));
/** A text with names in it. */
export const named = (text, called) => text.split(PLAYER).map(part => called.get(part) ?? part).join("");
/** The same as nodes, in which each name is set apart: it cannot pass for the words around it. */
export const namedNodes = (text, called) => text.split(PLAYER).map(part => called.has(part) ? make("bdi", {class: "name", title: part}, called.get(part)) : part);
