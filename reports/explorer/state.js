// The state of the explorer as the fragment of its address, so that a finding is a link.
//
// ExplorerState.toFragment(state) -> "#s=" and the state as JSON, with characters that an address cannot have escaped
// ExplorerState.fromFragment(fragment, header) -> {state, problem}: a checked state, and a sentence if there was none in it
// ExplorerState.checked(state, header) -> the state; an Error with a sentence if it does not fit the model
// ExplorerState.interventions(state) -> the interventions of engine.js
//
// All fields may be left out:
//     text    ciphertext
//     plain   plaintext; with `key` it is encrypted by the page, and `text` is not used
//     key     26 letters: the cipher letters that A to Z are encrypted to
//     layer   layer whose answer and key are shown, 0 to n_layers
//     head    [block, head] whose attention is shown
//     off     [["head", block, head], ["mlp", block], ...] parts that are switched off
//     scale   [["head", block, head, factor], ["mlp", block, factor], ...] parts that are multiplied
//     pin     [["Q", "E"], ...] cipher letters and the plain letters they are fixed to; each letter in one pin at most
//     second  second ciphertext, which patches come from
//     patch   [["head", block, head], ["mlp", block], ["resid", layer], ...] parts taken from the second text
//     by      "position" (if left out) or "symbol": how patches are carried over; see engine.js
//     places  [index, ...] characters at which parts are patched, counted in characters that the model reads; all if left out
// reports/explorer/state.py checks the same for links that Python writes.
"use strict";

var ExplorerState = (() => {
  const MARK = "#s=";
  const LONGEST_TEXT = 20000;
  const MOST = 2000; // entries of a list

  function demand(holds, sentence) {
    if (!holds) throw new Error(sentence);
  }

  function whole(number, end) {
    return Number.isInteger(number) && number >= 0 && number < end;
  }

  function isPart(part, config, { resid = false } = {}) {
    if (!Array.isArray(part)) return false;
    if (part[0] === "head") return part.length === 3 && whole(part[1], config.n_layers) && whole(part[2], config.n_heads);
    if (part[0] === "mlp") return part.length === 2 && whole(part[1], config.n_layers);
    return resid && part[0] === "resid" && part.length === 2 && whole(part[1], config.n_layers + 1);
  }

  function isScaled(part, config) {
    return Array.isArray(part) && Number.isFinite(part.at(-1)) && Math.abs(part.at(-1)) <= 100 && isPart(part.slice(0, -1), config);
  }

  // Half a surrogate pair, which a JSON escape can give, cannot be in a link.
  function isText(value) {
    return typeof value === "string" && value.length <= LONGEST_TEXT && !/\p{Surrogate}/u.test(value);
  }

  function isCapital(letter) {
    return typeof letter === "string" && /^[A-Z]$/.test(letter);
  }

  function isPin(pair) {
    return Array.isArray(pair) && pair.length === 2 && pair.every(isCapital);
  }

  function isKey(key) {
    return typeof key === "string" && /^[A-Z]{26}$/.test(key) && new Set(key).size === 26;
  }

  const CHECKS = {
    text: isText,
    plain: isText,
    second: isText,
    key: isKey,
    layer: (value, config) => whole(value, config.n_layers + 1),
    head: (value, config) => Array.isArray(value) && isPart(["head", ...value], config),
    off: (value, config) => isList(value, (part) => isPart(part, config)) && areDistinct(value),
    scale: (value, config) => isList(value, (part) => isScaled(part, config)) && areDistinct(value.map((part) => part.slice(0, -1))),
    pin: (value) => isList(value, isPin) && [0, 1].every((side) => areDistinct(value.map((pair) => pair[side]))),
    patch: (value, config) => isList(value, (part) => isPart(part, config, { resid: true })) && areDistinct(value),
    by: (value) => value === "position" || value === "symbol",
    places: (value, config) => isList(value, (place) => whole(place, config.n_ctx)),
  };

  function isList(value, isEntry) {
    return Array.isArray(value) && value.length <= MOST && value.every(isEntry);
  }

  const areDistinct = (parts) => new Set(parts.map((part) => JSON.stringify(part))).size === parts.length;

  function checked(state, header) {
    demand(state !== null && typeof state === "object" && !Array.isArray(state), "The link has no state in it.");
    for (const [name, value] of Object.entries(state)) {
      demand(Object.hasOwn(CHECKS, name), `The link has a field ${JSON.stringify(name).slice(0, 40)} that this page does not know.`);
      demand(CHECKS[name](value, header.config), `The field "${name}" of the link is not valid for the model ${header.name}.`);
    }
    return state;
  }

  function toFragment(state) {
    return MARK + encodeURIComponent(JSON.stringify(state));
  }

  function fromFragment(fragment, header) {
    if (!fragment || fragment === "#") return { state: {}, problem: "" };
    try {
      demand(fragment.startsWith(MARK), "The end of the address is not a state of this page.");
      let value;
      try {
        value = JSON.parse(decodeURIComponent(fragment.slice(MARK.length)));
      } catch {
        throw new Error("The state in the address is damaged; copy the whole link.");
      }
      return { state: checked(value, header), problem: "" };
    } catch (error) {
      return { state: {}, problem: error.message };
    }
  }

  function named(part) {
    if (part[0] === "head") return { part: "head", block: part[1], head: part[2] };
    return part[0] === "mlp" ? { part: "mlp", block: part[1] } : { part: "resid", layer: part[1] };
  }

  function interventions(state) {
    const letter = (symbol) => symbol.charCodeAt(0) - 65;
    const how = { positions: state.places ?? null, by: state.by ?? "position" };
    return [
      ...(state.patch ?? []).map((part) => ({ kind: "patch", ...named(part), ...how })),
      ...(state.scale ?? []).map((part) => ({ kind: "scale", ...named(part.slice(0, -1)), factor: part.at(-1) })),
      ...(state.off ?? []).map((part) => ({ kind: "scale", ...named(part), factor: 0 })),
      ...(state.pin ?? []).map(([cipher, plain]) => ({ kind: "pin", cipher: letter(cipher), plain: letter(plain) })),
    ];
  }

  return { MARK, toFragment, fromFragment, checked, interventions };
})();
