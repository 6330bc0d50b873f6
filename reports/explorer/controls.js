// The fields and buttons of the page: what they show of a state, and what they do to it.
"use strict";

var ExplorerControls = (() => {
  const { find, make, setValue, plural } = ExplorerDom;
  const { LETTERS } = ExplorerText;

  const on = (id, kind, action) => find(id).addEventListener(kind, action);
  const choices = (id, entries) => find(id).append(...entries.map(([value, text]) => make("option", { value, text })));
  const radios = (name) => document.querySelectorAll(`input[name="${name}"]`);
  const onRadio = (name, action) => radios(name).forEach((radio) => radio.addEventListener("change", () => action(radio.value)));
  const check = (name, value) => radios(name).forEach((radio) => { radio.checked = radio.value === value; });

  // Numbers of characters as a reader writes them, "3, 7-9", counted from 1, in a text of some length; null for all.
  function parsePlaces(text, length) {
    if (/^\s*(all)?\s*$/i.test(text)) return null;
    const places = new Set();
    for (const piece of text.split(",").map((one) => one.trim()).filter(Boolean)) {
      const [, first, last] = (/^(\d+)(?:\s*-\s*(\d+))?$/.exec(piece) ?? []).map((number) => number && Number(number));
      const end = Math.min(last ?? first, length);
      if (!(first >= 1 && first <= end)) {
        throw new Error(`"${piece.slice(0, 20)}" names no character of this text; write numbers from 1 to ${length}, such as 3, 7-12.`);
      }
      for (let place = first; place <= end; place += 1) places.add(place - 1);
    }
    return places.size ? [...places].sort((a, b) => a - b) : null;
  }

  function showProblem(id, sentence) {
    find(id).textContent = sentence;
    find(id).hidden = !sentence;
  }

  function readPlaces(actions) {
    try {
      const places = parsePlaces(find("places").value, actions.length());
      showProblem("places-problem", "");
      actions.change((next) => { next.places = places; });
    } catch (error) {
      showProblem("places-problem", error.message);
    }
  }

  function buildText(actions) {
    let lastKey = ""; // for the way back from a pasted cryptogram
    let carried = null; // the solution of a cryptogram that the page itself made
    choices("examples", ExplorerExamples.map(({ name }, number) => [number, name]));
    on("examples", "change", () => {
      const example = ExplorerExamples[Number(find("examples").value)];
      if (find("examples").value !== "") actions.change((next) => Object.assign(next, { plain: example.plain, key: example.key, text: "" }));
    });
    onRadio("mode", (mode) => actions.change((next) => {
      if (mode === "plain") {
        Object.assign(next, { plain: next.plain || actions.answerText(), key: lastKey || ExplorerText.randomKey() });
        return;
      }
      lastKey = next.key;
      carried = next.plain;
      Object.assign(next, { text: actions.cipherText(), key: "" });
    }));
    on("plain", "input", () => actions.change((next) => { next.plain = find("plain").value; }, "plain"));
    on("cipher", "input", () => actions.change((next) => {
      next.text = find("cipher").value;
      if (!next.text || next.plain === carried) next.plain = ""; // another text has another solution; one that was typed stays
    }, "cipher"));
    on("solution", "input", () => actions.change((next) => { next.plain = find("solution").value; }, "solution"));
    on("shuffle", "click", () => actions.change((next) => { next.key = ExplorerText.randomKey(); }));
  }

  function buildLayers(layers, actions) {
    find("layer").max = layers;
    const look = (layer) => {
      actions.stopPlaying();
      actions.showLayer(layer);
    };
    on("layer", "input", () => look(Number(find("layer").value)));
    on("layers", "click", (event) => {
      const button = event.target.closest("[data-layer]");
      if (button) look(Number(button.dataset.layer));
    });
    on("play", "click", actions.play);
  }

  function buildParts(view, actions) {
    onRadio("tool", (tool) => {
      view.tool = tool;
      view.scaled = null;
      if (tool === "patch" && !actions.state().second) otherText(actions);
      else actions.readSecond();
      actions.drawControls();
    });
    on("factor", "input", () => {
      const factor = Number(find("factor").value);
      if (view.scaled) actions.change((next) => ExplorerChanges.set(next, view.scaled, "scale", factor), "factor");
      actions.drawControls();
    });
    on("second", "input", () => actions.change((next) => { next.second = find("second").value; }, "second"));
    on("second-other", "click", () => otherText(actions));
    on("second-swap", "click", () => sameMessage(actions, ExplorerText.swapTwo));
    on("second-key", "click", () => sameMessage(actions, (text) => ExplorerText.encrypt(text, ExplorerText.randomKey())));
    on("by", "change", () => actions.change((next) => { next.by = find("by").value; }));
    on("places", "change", () => readPlaces(actions));
    on("scan", "click", actions.scan);
    choices("pin-cipher", [...LETTERS].map((letter) => [letter, letter]));
    choices("pin-plain", [...LETTERS].map((letter) => [letter, letter]));
    on("pin", "click", () => actions.change((next) => ExplorerChanges.pin(next, find("pin-cipher").value, find("pin-plain").value)));
    on("answer", "click", (event) => {
      const cell = event.target.closest("[data-letter]");
      if (!cell) return;
      find("pin-cipher").value = cell.dataset.letter;
      find("pin-plain").focus();
    });
  }

  // Take the same message in other letters as the second text. At any position both say the same, so letters are compared.
  function sameMessage(actions, relabelled) {
    actions.change((next) => Object.assign(next, { second: relabelled(actions.cipherText()), by: "symbol" }));
  }

  // Take an example as the second text: the next one that is long enough, cut to the length of the first.
  function otherText(actions) {
    const { plain, second } = actions.state();
    const length = [...actions.cipherText()].length;
    const texts = ExplorerExamples.map((example) => ({ ...example, cipher: ExplorerText.encrypt(example.plain, example.key) }));
    const longest = Math.max(...texts.map((one) => one.plain.length));
    const found = texts.filter((one) => one.plain !== plain && one.plain.length >= Math.min(length, longest));
    if (!found.length) found.push(texts[0]);
    const last = found.findIndex((one) => second && one.cipher.startsWith(second));
    actions.change((next) => { next.second = found[(last + 1) % found.length].cipher.slice(0, length); });
  }

  function buildViews({ layers, heads }, view, actions) {
    choices("attention-block", Array.from({ length: layers }, (_, number) => [number, number]));
    choices("attention-head", Array.from({ length: heads }, (_, number) => [number, number]));
    const look = () => actions.change((next) => { next.head = [Number(find("attention-block").value), Number(find("attention-head").value)]; }, "view");
    on("attention-block", "change", look);
    on("attention-head", "change", look);
    on("attention-place", "input", () => {
      view.place = Number(find("attention-place").value);
      actions.drawResults();
    });
    onRadio("key-view", (shown) => {
      view.keyView = shown;
      actions.drawResults();
    });
  }

  function buildDock(actions) {
    on("undo", "click", actions.undo);
    on("redo", "click", actions.redo);
    on("reset", "click", () => actions.change(ExplorerChanges.clear));
    on("link", "click", actions.copyLink);
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.closest("textarea, input[type=text]")) return; // a field undoes its own typing
      const key = event.key.toLowerCase();
      if (key === "z" || key === "y") {
        event.preventDefault();
        if (key === "y" || event.shiftKey) actions.redo();
        else actions.undo();
      }
    });
  }

  // Go to the main part without a change of the address, which holds the state.
  function buildSkip() {
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      find("main").focus();
    });
  }

  function build(shape, view, actions) {
    buildSkip();
    buildText(actions);
    buildLayers(shape.layers, actions);
    buildParts(view, actions);
    buildViews(shape, view, actions);
    buildDock(actions);
  }

  function drawText(state) {
    check("mode", state.key ? "plain" : "cipher");
    find("plain-box").hidden = !state.key;
    find("cipher-box").hidden = Boolean(state.key);
    setValue(find("plain"), state.plain);
    setValue(find("cipher"), state.text);
    setValue(find("solution"), state.plain);
    const example = ExplorerExamples.findIndex(({ plain, key }) => plain === state.plain && key === state.key);
    setValue(find("examples"), example < 0 ? "" : String(example));
    if (!state.key) return;
    find("key").replaceChildren(...[...LETTERS].map((letter, number) => make("span", { class: "pair" },
      make("small", { text: letter }), make("span", { class: "hidden-label", text: " is " }), make("b", { text: state.key[number] }),
      make("span", { class: "hidden-label", text: ", " }))));
  }

  function drawParts(state, view, cipher, second, symbols) {
    check("tool", view.tool);
    find("scale-box").hidden = view.tool !== "scale";
    find("patch-box").hidden = view.tool !== "patch";
    find("factor-number").textContent = Number(find("factor").value).toFixed(2);
    find("scale-note").textContent = view.scaled
      ? `The slider now scales: ${ExplorerChanges.words(view.scaled)}.` : "Choose a switch below; the slider then scales this part.";
    setValue(find("second"), state.second);
    const first = ExplorerText.read(cipher, symbols).ids;
    const notes = [noteOnPlaces(state.places ?? [], first.length), state.by === "position" ? noteOnPositions(first, second.ids) : ""];
    find("second-note").textContent = notes.filter(Boolean).join(" ");
    setValue(find("by"), state.by);
    if (document.activeElement === find("places")) return;
    setValue(find("places"), (state.places ?? []).map((place) => place + 1).join(", "));
    showProblem("places-problem", "");
  }

  // What a reader should know who chose characters and then a shorter text, of `length` characters.
  function noteOnPlaces(places, length) {
    const beyond = places.filter((place) => place >= length).length;
    if (!beyond || !length) return "";
    return `The text has ${plural(length, "character")}, so ${beyond} of the ${places.length} chosen ones cannot be patched.`;
  }

  // What a reader should know who patches by position.
  function noteOnPositions(first, second) {
    if (!first.length || !second.length) return "";
    if (ExplorerText.isRelabelled(first, second)) {
      return "Both texts are the same message, so a position says nearly the same in both; carry over by cipher letter instead.";
    }
    if (first.length === second.length) return "";
    const shared = Math.min(first.length, second.length);
    return `The second text has ${plural(second.length, "character")}, the first ${first.length}: parts are patched at the ${shared} that both have.`;
  }

  function draw(state, view, { layers, cipher, second, symbols }) {
    const layer = state.layer ?? layers;
    drawText(state);
    drawParts(state, view, cipher, second, symbols);
    setValue(find("layer"), String(layer));
    find("layer-number").textContent = `${layer} of ${layers}${layer === 0 ? ", the embedding" : ""}`;
    find("layer").setAttribute("aria-valuetext", `layer ${layer} of ${layers}`);
    for (const name of document.querySelectorAll(".layer-name")) name.textContent = layer;
    find("dock-words").setAttribute("aria-live", view.playing ? "off" : "polite"); // of an animation only the end is told
    find("play").textContent = view.playing ? "Stop" : "Play";
  }

  return { build, draw };
})();
