// What the reader's changes did: before and after, in words, in numbers and letter by letter.
"use strict";

var ExplorerCompare = (() => {
  const { find, make, percent, plural, signed } = ExplorerDom;
  const { LETTERS } = ExplorerText;
  const N = LETTERS.length;

  const pair = (before, now) => (before === now ? now : `${before} \u2192 ${now}`);

  // Mean probability that the model gives its own answers, over the letters of the text.
  function sureness(certainty) {
    const shares = Object.values(certainty);
    return shares.reduce((total, share) => total + share, 0) / shares.length;
  }

  // Mean over the letters of the text of how much probability has moved to other plain letters, 0 to 1.
  function moved(before, now, key) {
    const letters = Object.keys(key);
    const sum = letters.reduce((total, cipher) => {
      const row = LETTERS.indexOf(cipher) * N;
      let difference = 0;
      for (let plain = 0; plain < N; plain += 1) difference += Math.abs(before[row + plain] - now[row + plain]);
      return total + difference / 2;
    }, 0);
    return sum / letters.length;
  }

  const errorShare = (found, answer) => ExplorerText.errorShare(found.solution, answer);

  // found: {solution, answer, answerBefore, table, tableBefore, certainty, certaintyBefore, key, keyBefore, layerWords}; the *Before null without changes
  function dockWords(found) {
    const count = found.answer.length;
    const where = found.layerWords;
    if (!found.keyBefore) {
      if (!found.solution) return `${plural(count, "character")} read${where}. On average ${percent(sureness(found.certainty))} sure of a letter.`;
      const wrong = ExplorerText.differences(found.solution, found.answer);
      return wrong ? `${plural(wrong, "error")} in ${plural(count, "character")}${where} (${percent(wrong / count, 1)}).` : `Solved${where}: no error in ${plural(count, "character")}.`;
    }
    const changed = ExplorerText.keyChanges(found.keyBefore, found.key).length;
    const key = changed ? `${plural(changed, "letter")} of the key changed` : "the key stays the same";
    if (!found.solution) return `With your changes${where}: ${key}.`;
    const [before, now] = [errorShare(found, found.answerBefore), errorShare(found, found.answer)];
    const errors = before === now ? `errors stay at ${percent(now, 1)}` : `errors ${percent(before, 1)} \u2192 ${percent(now, 1)}`;
    return `With your changes${where}: ${errors}; ${key}.`;
  }

  function line(name, before, now, difference) {
    return make("tr", {}, make("th", { scope: "row", text: name }), make("td", { text: before }), make("td", { text: now }), make("td", { text: difference }));
  }

  function numbers(found) {
    const [before, now] = [sureness(found.certaintyBefore), sureness(found.certainty)];
    const rows = [line("Mean confidence", percent(before, 1), percent(now, 1), signed(now - before))];
    if (found.solution) {
      const errors = [errorShare(found, found.answerBefore), errorShare(found, found.answer)];
      rows.unshift(line("Errors (SER)", percent(errors[0], 1), percent(errors[1], 1), signed(errors[1] - errors[0])));
    }
    const heads = ["", "before", "now", "difference"].map((text) => make("th", { scope: "col", text }));
    return make("table", { class: "numbers" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }

  function keyChanges(found) {
    const changes = ExplorerText.keyChanges(found.keyBefore, found.key);
    const share = percent(moved(found.tableBefore, found.table, found.key), 1);
    const words = `${changes.length ? `${plural(changes.length, "letter")} of ${Object.keys(found.key).length} read differently` : "Every letter is read as before"}; ${share} of the key's probability has moved.`;
    const chips = changes.map(([cipher, before, now]) => make("li", { title: `${cipher} was read as ${before}, now as ${now}` },
      make("b", { text: cipher }), ` ${pair(before, now)}`));
    return [make("p", { class: "note", text: words }), make("ul", { class: "chips key-changes", "aria-label": "Letters that are read differently" }, ...chips)];
  }

  function draw(found) {
    find("dock-words").textContent = dockWords(found);
    const body = found.keyBefore ? [numbers(found), ...keyChanges(found)] : [];
    find("comparison-body").replaceChildren(...body);
  }

  // The list of changes, each with a button that takes it back.
  function drawChanges(state, onUndo) {
    const chips = ExplorerChanges.list(state).map(({ name, undo }) => {
      const button = make("button", { type: "button", "aria-label": `Take back: ${name}`, text: `${name} \u00d7` });
      button.addEventListener("click", () => onUndo(undo));
      return make("li", {}, button);
    });
    const focused = [...find("changes").querySelectorAll("button")].indexOf(document.activeElement);
    find("changes").replaceChildren(...(chips.length ? chips : [make("li", { class: "none", text: "Nothing yet: the network is whole." })]));
    if (focused >= 0) (find("changes").querySelectorAll("button")[Math.min(focused, chips.length - 1)] ?? find("changes-title")).focus();
  }

  return { draw, drawChanges };
})();
