// What a reader changes in the model: one setting per part, and pinned letters. States are those of state.js.
"use strict";

var ExplorerChanges = (() => {
  const DEFAULTS = {
    text: "", plain: "", key: "", layer: null, head: null, off: [], scale: [], pin: [], second: "", patch: [], by: "position", places: null,
  };
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // Return a state with all fields, or one without those that have their default value, which makes short links.
  const full = (state) => JSON.parse(JSON.stringify({ ...DEFAULTS, ...state }));
  function compact(state) {
    const unused = state.key ? "text" : "key";
    return Object.fromEntries(Object.entries(state).filter(([field, value]) => field !== unused && !same(value, DEFAULTS[field])));
  }

  // Return a full state that has a text: a plaintext gets a key if it has none, and without any text the example is used.
  function withText(state, { plain, key }) {
    if (state.text) return full(state.plain ? state : { ...state, key: "" });
    return full(state.plain ? { key: ExplorerText.randomKey(), ...state } : { ...state, plain, key });
  }

  function label(part) {
    if (part[0] === "head") return `L${part[1]}H${part[2]}`;
    return part[0] === "mlp" ? `L${part[1]} MLP` : `stream of layer ${part[1]}`;
  }

  function words(part) {
    if (part[0] === "head") return `Block ${part[1]}, head ${part[2]}`;
    if (part[0] === "mlp") return `Block ${part[1]}, MLP`;
    return part[1] === 0 ? "Stream of layer 0, the embedding" : `Stream of layer ${part[1]}, after block ${part[1] - 1}`;
  }

  // Return {kind: "on", "off", "scale" or "patch", factor} of a part.
  function settingOf(state, part) {
    if (state.off.some((one) => same(one, part))) return { kind: "off", factor: 0 };
    if (state.patch.some((one) => same(one, part))) return { kind: "patch", factor: 1 };
    const scaled = state.scale.find((one) => same(one.slice(0, -1), part));
    return scaled ? { kind: "scale", factor: scaled.at(-1) } : { kind: "on", factor: 1 };
  }

  // Set a part in place; a factor of 1 is no change.
  function set(state, part, kind, factor = 1) {
    state.off = state.off.filter((one) => !same(one, part));
    state.patch = state.patch.filter((one) => !same(one, part));
    state.scale = state.scale.filter((one) => !same(one.slice(0, -1), part));
    if (kind === "off" || kind === "patch") state[kind].push(part);
    if (kind === "scale" && factor !== 1) state.scale.push([...part, factor]);
  }

  // Pin a letter in place; the pins that it contradicts are removed. A plain letter of null removes the pin.
  function pin(state, cipher, plain) {
    state.pin = state.pin.filter(([one, other]) => one !== cipher && other !== plain);
    if (plain !== null) state.pin.push([cipher, plain]);
  }

  function clear(state) {
    Object.assign(state, { off: [], scale: [], patch: [], pin: [], by: "position", places: null });
  }

  const count = (state) => state.off.length + state.scale.length + state.patch.length + state.pin.length;

  // Return [{name, undo}] for every change, where undo takes it back in a state.
  function list(state) {
    const entry = (field, one, name) => ({ name, undo: (changed) => { changed[field] = changed[field].filter((other) => !same(other, one)); } });
    return [
      ...state.off.map((one) => entry("off", one, `${label(one)} off`)),
      ...state.scale.map((one) => entry("scale", one, `${label(one.slice(0, -1))} \u00d7 ${one.at(-1)}`)),
      ...state.patch.map((one) => entry("patch", one, `${label(one)} patched`)),
      ...state.pin.map(([cipher, plain]) => ({ name: `${cipher} is ${plain}`, undo: (changed) => pin(changed, cipher, null) })),
    ];
  }

  return { full, withText, compact, label, words, settingOf, set, pin, clear, count, list, same };
})();
