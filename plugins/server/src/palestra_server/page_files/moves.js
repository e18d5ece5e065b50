// How clicks, keys and fields become moves. Nothing here touches the page.

const isSign = letter => /[\p{L}\p{N}]/u.test(letter);
const isDigit = letter => letter >= "0" && letter <= "9";
const MOST = 60;  // places; where more may be clicked, marking them all says nothing

/** Letters and digits only, to compare clicks on two cells with a move such as "a2-a3". */
export const bare = text => [...text.toLowerCase()].filter(isSign).join("");

/** What is left of a move after what was typed; null if it does not begin so. */
function rest(move, typed) {
  let at = 0;
  for (const sign of typed) {
    while (at < move.length && !isSign(move[at])) at++;
    if (move[at]?.toLowerCase() !== sign) return null;
    at++;
  }
  return move.slice(at);
}
/** Whether a move begins with the names of these places: "1" begins "1-2" and "1a", but not "12"; "R" not "Road". */
function begins(move, names) {
  const typed = names.map(bare).join(""), left = rest(move, typed);
  const alike = left ? isSign(left[0]) && isDigit(typed.at(-1)) === isDigit(left[0]) : false;
  return left !== null && !alike;
}
const spaced = text => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}_-]+/gu, " ").trim()} `;
const mentions = (move, names) => names.every(name => spaced(move).includes(spaced(name)));

/** Moves that begin with the names of places or, if none does, mention all of them. */
export function movesAt(moves, names) {
  const begun = moves.filter(move => begins(move, names));
  return begun.length ? begun : moves.filter(move => mentions(move, names));
}
/** What a click on a place means: the places chosen now, and the whole move if they make one. */
export function click(moves, chosen, name) {
  if (chosen.at(-1) === name) return {chosen: chosen.slice(0, -1), move: null};
  for (const names of chosen.length ? [[...chosen, name], [name]] : [[name]]) {
    const possible = movesAt(moves, names);
    if (!possible.length) continue;
    const whole = possible.filter(move => bare(move) === bare(names.join("")));
    const only = possible.length === 1 && !begins(possible[0], names) ? possible : whole;
    return {chosen: names, move: only.length === 1 ? only[0] : null};
  }
  return null;
}
/** The places that may be clicked next. */
export function targets(moves, chosen, places) {
  const names = [...new Set(places)].filter(name => name && !chosen.includes(name));
  const found = names.filter(name => movesAt(moves, [...chosen, name]).length);
  return found.length > MOST || (found.length === names.length && !chosen.length) ? [] : found;
}
/** Moves that begin with what was typed or, if none does, contain it. */
export function movesWith(moves, typed) {
  const begun = bare(typed), from = moves.filter(move => bare(move).startsWith(begun));
  return from.length ? from : moves.filter(move => bare(move).includes(begun));
}

/** Moves that differ only in a number at their end, where they are many, and all others. */
export function families(moves, many = 9) {
  const stems = new Map();
  for (const move of moves) {
    const [, stem, number] = /^(.*\D )(\d+)$/.exec(move) || [];
    if (stem) stems.set(stem, [...(stems.get(stem) || []), Number(number)]);
  }
  const ranges = [...stems].filter(([, numbers]) => numbers.length >= many);
  const single = moves.filter(move => !ranges.some(([stem, numbers]) => move.startsWith(stem) && numbers.includes(Number(move.slice(stem.length)))));
  return {single, ranges: ranges.map(([stem, numbers]) => ({stem, numbers}))};
}

const KEYS = {
  ArrowUp: ["up", "north", "moveup", "movenorth", "forward", "moveforward"],
  ArrowDown: ["down", "south", "movedown", "movesouth", "back", "backward"],
  ArrowLeft: ["left", "west", "moveleft", "movewest", "turnleft"],
  ArrowRight: ["right", "east", "moveright", "moveeast", "turnright"],
  " ": ["interact", "use", "act", "toggle", "pickup"],
  ".": ["stay", "wait", "noop", "pass", "still"],
};
/** The move of each key: arrows for a game whose moves are directions. */
export function keysOf(moves) {
  const found = {}, byName = new Map(moves.map(move => [bare(move), move]));
  for (const [key, names] of Object.entries(KEYS)) {
    const name = names.find(one => byName.has(one));
    if (name) found[key] = byName.get(name);
  }
  return Object.keys(found).some(key => key.startsWith("Arrow")) ? found : {};
}

/** A typed action as it is written: `Propose(books=1, hats=0)`. */
export function call(form, values) {
  const given = form.fields.map((field, at) => `${field.name}=${field.kind === "text" ? JSON.stringify(values[at]) : values[at]}`);
  return `${form.name}(${given.join(", ")})`;
}
/** The few actions that a form without free fields stands for, as pairs of label and action; or null. */
export function fewActions(form, most = 12) {
  if (!form.fields.length) return [[form.name, call(form, [])]];
  const [field] = form.fields;
  if (form.fields.length > 1 || field.kind === "text") return null;
  const values = field.kind === "choice" ? field.values :
    field.high - field.low < most ? Array.from({length: field.high - field.low + 1}, (_, n) => [field.low + n, String(field.low + n)]) : [];
  if (!values.length || values.length > most) return null;
  return values.map(([value, text]) => [text, call(form, [value])]);
}
