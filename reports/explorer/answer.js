// The answer of the chosen layer letter by letter, and the answers of all layers.
"use strict";

var ExplorerAnswer = (() => {
  const { find, make, percent, plural } = ExplorerDom;
  const WRONG = "wrong";

  // One character: what was written, what the model reads, and what it read before the reader's changes if that differs.
  function cell(found, place, number) {
    const { reading, shown, before, solution, answer, certainty } = found;
    const written = reading.characters[place];
    if (number === undefined) {
      return make("span", { class: "cell outside", title: "not in the model's alphabet, so the model does not see it" },
        make("small", { text: /\s/.test(written) ? " " : written }), make("b", { text: written }));
    }
    const letter = ExplorerText.isLetter(written);
    const changed = before && before[place] !== shown[place];
    const wrong = solution && solution[number] !== answer[number];
    const classes = ["cell", !letter && "mark", written === " " && "space", changed && "changed", wrong && WRONG];
    const element = make("span", { class: classes.filter(Boolean).join(" "), "data-letter": letter ? written.toUpperCase() : null },
      make("small", { text: written }), make("b", { text: shown[place] }));
    if (changed) element.append(make("s", { text: before[place] }));
    if (letter) element.style.setProperty("--doubt", (1 - certainty[written.toUpperCase()]).toFixed(3));
    if (letter || changed || wrong) {
      const sure = letter ? ` (${percent(certainty[written.toUpperCase()])})` : "";
      const was = changed ? `, before ${before[place]}` : "";
      const right = wrong ? `, should be ${found.symbols[solution[number] - 1]}` : "";
      element.title = `${written} is read as ${shown[place]}${sure}${was}${right}`;
    }
    return element;
  }

  // found: {reading, symbols, answer, shown, before, solution, certainty}, all of the chosen layer
  function drawCells(found) {
    const numberOf = new Map(found.reading.places.map((place, number) => [place, number]));
    const words = [];
    let word = null;
    found.reading.characters.forEach((character, place) => {
      if (!word) words.push((word = make("span", { class: "word", "aria-hidden": "true" })));
      word.append(cell(found, place, numberOf.get(place)));
      if (/\s/.test(character)) word = null; // a line never begins with a space
    });
    find("answer").replaceChildren(...words);
    find("answer-words").textContent = `Answer: ${found.shown.join("")}`;
    find("answer").classList.toggle("compared", Boolean(found.before)); // at every layer, so that nothing moves when it changes
  }

  function drawLegend({ before, solution, reading }) {
    const entry = (name, words) => make("span", {}, make("i", { class: `sample ${name}`, text: name === "doubt" ? "" : "a" }), words);
    const entries = [entry("doubt", "not sure")];
    if (solution) entries.push(entry("wrong", "wrong"));
    if (before) entries.push(entry("changed", "changed by you; before below it"));
    if (reading.outside.length) entries.push(entry("outside", "not in the alphabet"));
    find("answer-legend").replaceChildren(...entries);
  }

  // A line of text in which the places of `marks` are marked; runs of them are one element.
  function marked(characters, marks) {
    const pieces = [];
    characters.forEach((character, place) => {
      const mark = marks.has(place);
      const last = pieces.at(-1);
      if (last && last.mark === mark) last.text += character;
      else pieces.push({ mark, text: character });
    });
    return pieces.map(({ mark, text }) => (mark ? make("mark", { text }) : document.createTextNode(text)));
  }

  function layerRow(layer, texts, found, chosen) {
    const marks = new Set(layer ? texts[layer].flatMap((character, place) => (character === texts[layer - 1][place] ? [] : [place])) : []);
    const errors = found.solution ? ExplorerText.errorShare(found.solution, found.answers[layer]) : null;
    const name = layer === 0 ? "0, the embedding" : String(layer);
    const facts = [layer ? `${plural(marks.size, "character")} changed` : "", errors === null ? "" : `${percent(errors, 1)} errors`];
    const number = make("button", {
      type: "button", class: "layer-number", "data-layer": layer, "aria-pressed": String(layer === chosen),
      "aria-label": [`Show layer ${name}`, ...facts].filter(Boolean).join(", "), text: layer,
    });
    const row = make("li", { class: layer === chosen ? "chosen" : null }, number, make("p", {}, ...marked(texts[layer], marks)));
    if (errors !== null) {
      const bar = make("span", { class: "layer-errors", title: "symbol error rate" }, make("i"), make("span", { text: percent(errors, errors < 0.0995 ? 1 : 0) }));
      bar.firstChild.style.setProperty("--share", errors);
      row.append(bar);
    }
    return row;
  }

  // found: {reading, symbols, answers: [layer], solution}
  function drawLayers(found, chosen) {
    const texts = found.answers.map((answer) => ExplorerText.writeBack(found.reading, answer, found.symbols));
    find("layers-errors").hidden = !found.solution;
    const focused = document.activeElement?.dataset?.layer;
    find("layers").replaceChildren(...texts.map((_, layer) => layerRow(layer, texts, found, chosen)));
    if (focused !== undefined) find("layers").querySelector(`[data-layer="${focused}"]`)?.focus();
  }

  return { drawCells, drawLegend, drawLayers };
})();
