// What a reader changes in the model, for engine.js: parts that are scaled or patched, and letters that are pinned.
//
// Interventions, in any number:
//     {kind: "scale", part: "head", block, head, factor}    multiply what a head mixes (attn.hook_z); 0 switches it off
//     {kind: "scale", part: "mlp", block, factor}           multiply what a feed-forward layer adds (hook_mlp_out)
//     {kind: "patch", part: "head", block, head, positions, by}  carry the same over from the second text;
//     {kind: "patch", part: "mlp", block, positions, by}         resid: the residual stream of a layer;
//     {kind: "patch", part: "resid", layer, positions, by}       positions: a list, or null for all
//     {kind: "pin", cipher, plain}                          fix what a cipher letter stands for (0-25 each), at every layer
// Where a part is both patched and scaled, it is patched first, so what is switched off stays off.
// A patch replaces an activation by that at the same position of the second text, where both have one. With by: "symbol" it
// moves every place of a cipher symbol by the difference of the symbol's means in the two texts, if both have it. Between two
// encryptions of one plaintext only that says something: there, the plaintext at every position is the same.
// A pin acts on the head of the model. No other cipher letter may then stand for that plain letter. A bijective model
// assigns the remaining letters again, one-to-one; the other variants answer each of the other letters with its best
// remaining plain letter, since their head lets two cipher letters share one.
"use strict";

var AliceInterventions = (() => {
  const NEVER = -1e9; // score of what cannot be an answer, as in Python: finite, so that differences are, too
  const LETTERS = 26;

  // Interventions in the form that the forward pass asks for; an impossible one is an Error.
  function planned(interventions, config) {
    const within = (number, end) => Number.isInteger(number) && number >= 0 && number < end;
    const plan = { patches: [], scales: new Map(), pins: [] };
    for (const one of interventions) {
      if (one.kind === "pin") {
        if (!within(one.cipher, LETTERS) || !within(one.plain, LETTERS)) throw new Error("A pin joins two letters from A to Z.");
        plan.pins.push(one);
        continue;
      }
      const number = one.part === "resid" ? one.layer : one.block;
      const known =
        (one.part === "head" && within(number, config.n_layers) && within(one.head, config.n_heads)) ||
        (one.part === "mlp" && within(number, config.n_layers)) ||
        (one.part === "resid" && one.kind === "patch" && within(number, config.n_layers + 1));
      if (!known || (one.kind !== "scale" && one.kind !== "patch")) {
        throw new Error(`This model has no part ${JSON.stringify(one).slice(0, 120)}.`);
      }
      if (one.kind === "patch") plan.patches.push({ ...one, number });
      else if (!Number.isFinite(one.factor)) throw new Error("The factor of a part must be a number.");
      else plan.scales.set(`${one.part} ${number} ${one.head ?? 0}`, one.factor);
    }
    plan.of = (part, number, head) =>
      plan.patches.filter((one) => one.part === part && one.number === number && (part !== "head" || one.head === head));
    plan.factor = (part, number, head = 0) => plan.scales.get(`${part} ${number} ${head}`) ?? 1;
    checkPins(plan.pins);
    return plan;
  }

  function checkPins(pins) {
    const name = (letter) => String.fromCharCode(65 + letter);
    for (const [index, { cipher, plain }] of pins.entries()) {
      for (const other of pins.slice(index + 1)) {
        if (other.cipher === cipher) throw new Error(`Cipher letter ${name(cipher)} is pinned twice; remove one of the pins.`);
        if (other.plain === plain) {
          throw new Error(`Cipher letters ${name(cipher)} and ${name(other.cipher)} are both pinned to ${name(plain)}; remove one.`);
        }
      }
    }
  }

  // Carry columns start to start + count of an activation of the source, (pos, width), over into x, in place; x has the
  // symbols `ids`.
  function patch(x, width, start, count, patches, source, activation, ids) {
    for (const { positions, by } of patches) {
      const places = (positions ?? Array.from(ids.keys())).filter((pos) => pos >= 0 && pos < ids.length);
      if (by === "symbol") {
        const shifts = shiftsOf(x, ids, activation, source.ids, width, start, count);
        for (const pos of places) {
          shifts.get(ids[pos])?.forEach((shift, n) => { x[pos * width + start + n] += shift; });
        }
      } else {
        for (const pos of places.filter((place) => place < source.ids.length)) {
          const from = pos * width + start;
          x.set(activation.subarray(from, from + count), from);
        }
      }
    }
  }

  // How far the mean of each symbol that both texts have must move to be that of the source: Map of Float64Array(count).
  function shiftsOf(x, ids, activation, sourceIds, width, start, count) {
    const shifts = new Map();
    for (const id of new Set(ids)) {
      if (!sourceIds.includes(id)) continue;
      const mine = meanOf(x, ids, id, width, start, count);
      shifts.set(id, meanOf(activation, sourceIds, id, width, start, count).map((value, n) => value - mine[n]));
    }
    return shifts;
  }

  function meanOf(x, ids, id, width, start, count) {
    const mean = new Float64Array(count);
    let places = 0;
    ids.forEach((one, pos) => {
      if (one !== id) return;
      places++;
      for (let n = 0; n < count; n++) mean[n] += x[pos * width + start + n];
    });
    return mean.map((sum) => sum / places);
  }

  // Multiply columns start to start + count of x, (pos, width), in place.
  function scale(x, width, start, count, factor) {
    if (factor === 1) return;
    for (let row = start; row < x.length; row += width) {
      for (let n = row; n < row + count; n++) x[n] *= factor;
    }
  }

  // Fix rows of a table of scores, (n, n), in place: [row, column] pairs; the column is then closed to all other rows.
  function pinned(scores, n, pairs) {
    for (const [row, column] of pairs) {
      for (let other = 0; other < n; other++) {
        scores[other * n + column] = NEVER;
        scores[row * n + other] = NEVER;
      }
    }
    for (const [row, column] of pairs) scores[row * n + column] = 0;
  }

  return { NEVER, planned, patch, scale, pinned };
})();
