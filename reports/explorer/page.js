// The page of the explorer: every change makes a new state, every new state is computed, drawn, remembered and linked.
"use strict";

(() => {
  const { find, setValue, percent } = ExplorerDom;
  const Changes = ExplorerChanges;
  const PAUSE = { compute: 120, link: 250, busy: 250, layer: 750 };
  const SCAN = { start: "Which parts matter?", stop: "Stop" };

  const runner = ExplorerRunner.start(document);
  const { header } = runner;
  const { symbols, n_layers: layers, n_heads: heads, n_ctx: longest } = header.config;
  const runs = new ExplorerRuns(runner);
  let state = Changes.full({});
  let past = null;
  let results = null; // {reading, before, now, solution}; null while there is nothing to show
  let computing = 0; // number of the newest computation
  let scanning = null; // the scan under way
  let secondRead = ""; // the second text whose answer is shown
  let effects = null; // what each part does alone, for the text with these ids
  const view = { tool: "off", keyView: "now", place: -1, scaled: null, playing: null, head: null };

  const layerOf = () => state.layer ?? layers;
  const cipherText = () => (state.key ? ExplorerText.encrypt(state.plain, state.key) : state.text);

  // ---- States -------------------------------------------------------------------------------------------------------

  // Change a copy of the state; `kind` joins changes of one kind into one step of undo, "view" is none.
  function change(mutate, kind = null) {
    const next = Changes.full(state);
    mutate(next);
    enter(next, kind);
  }

  function enter(next, kind) {
    if (Changes.same(next, state)) return;
    state = next;
    past.add(state, kind);
    drawControls();
    linkSoon();
    if (kind === "view") drawResults();
    else computeSoon(kind === null ? 0 : PAUSE.compute); // typing and sliding go on
  }

  function later(action) {
    let waiting = null;
    return (pause) => {
      clearTimeout(waiting);
      waiting = setTimeout(action, pause);
    };
  }

  const writeLink = () => window.history.replaceState(null, "", ExplorerState.toFragment(Changes.compact(state)));
  const linkLater = later(writeLink);
  const linkSoon = () => linkLater(PAUSE.link);
  const computeLater = later(() => compute());

  function computeSoon(pause) {
    setReady(false);
    computeLater(pause);
  }

  const isReady = () => document.body.dataset.ready === "yes";
  function setReady(ready) {
    document.body.dataset.ready = ready ? "yes" : "no";
    ExplorerDom.setEnabled(find("scan"), (ready && results) || scanning);
  }

  function restore(next) {
    if (!next) return;
    state = next;
    view.scaled = null;
    drawControls();
    linkSoon();
    computeSoon(0);
  }

  function notice(words) {
    find("notice").textContent = words;
    find("notice").hidden = !words;
  }

  // What the page opens on: the address, else what was written into the file, else the first example.
  function firstState() {
    const example = ExplorerExamples[0];
    const written = find("explorer-state");
    const fragment = location.hash.length > 1 || !written ? location.hash : ExplorerState.toFragment(JSON.parse(written.textContent));
    const found = ExplorerState.fromFragment(fragment, header);
    notice(found.problem && `${found.problem} The page begins with an example instead.`);
    return Changes.withText(found.state, example);
  }

  // ---- Computing ----------------------------------------------------------------------------------------------------

  // Say why there is no result: because of the text, or because of what was changed.
  function explain(textProblem, changeProblem) {
    for (const [id, sentence] of [["problem", textProblem], ["change-problem", changeProblem]]) {
      find(id).textContent = sentence;
      find(id).hidden = !sentence;
    }
    const words = textProblem || changeProblem;
    for (const panel of document.querySelectorAll(".needs-text")) panel.inert = Boolean(words); // it shows an earlier result
    if (!words) return;
    find("dock-words").textContent = words;
    find("comparison-body").replaceChildren();
  }

  async function compute() {
    const number = ++computing;
    scanning = null;
    setReady(false);
    const reading = ExplorerText.read(cipherText(), symbols);
    const words = ExplorerText.fault(reading, longest);
    drawTextNote(reading);
    if (words) {
      results = null;
      return finish(words);
    }
    const interventions = ExplorerState.interventions(state);
    const busy = setTimeout(() => document.body.setAttribute("aria-busy", "true"), PAUSE.busy);
    try {
      const before = await runs.whole(reading.ids);
      if (number !== computing) return undefined;
      const second = ExplorerText.read(state.second, symbols).ids;
      const now = interventions.length ? await runner.run(reading.ids, { interventions, second }) : before;
      if (number !== computing) return undefined;
      if (effects && !Changes.same(effects.ids, reading.ids)) effects = null;
      results = { reading, before: interventions.length ? before : null, now, solution: solutionOf(reading) };
      finish("");
      return readSecond();
    } catch (error) {
      if (error.name === "AbortError" || number !== computing) return undefined;
      results = null;
      return finish("", error.message);
    } finally {
      clearTimeout(busy);
    }
  }

  function finish(textProblem, changeProblem = "") {
    document.body.removeAttribute("aria-busy");
    explain(textProblem, changeProblem);
    drawResults();
    drawBoard();
    setReady(true);
  }

  // Show what the model without changes makes of the second text alone; a run that is under way comes first and calls this again.
  async function readSecond() {
    if (!isReady() || scanning) return;
    const number = computing;
    const reading = ExplorerText.read(state.second, symbols);
    const fault = ExplorerText.fault(reading, longest);
    if (fault || view.tool !== "patch") {
      find("second-answer").textContent = state.second ? fault : "";
      return;
    }
    try {
      const { answer } = await runs.whole(reading.ids);
      if (number !== computing) return;
      secondRead = state.second;
      find("second-answer").textContent = `Alone it is read as: ${ExplorerText.writeBack(reading, answer[layers], symbols).join("")}`;
    } catch (error) {
      if (error.name !== "AbortError") notice(error.message);
    }
  }

  // Ids of the solution if it is known and has as many characters as the text, else null.
  function solutionOf(reading) {
    const { ids } = ExplorerText.read(state.plain, symbols);
    return state.plain && ids.length === reading.ids.length ? ids : null;
  }

  // Switch off each part alone and see how much of the answer changes.
  async function scan() {
    if (scanning) {
      scanning = null; // it ends after the part that it is trying
      return;
    }
    if (!results || !isReady()) return; // it would take the place of the run under way
    const own = (scanning = {});
    find("scan").textContent = SCAN.stop;
    const parts = ExplorerBoard.parts();
    const { ids } = results.reading;
    const alone = {};
    try {
      for (const part of parts) {
        find("scan-note").textContent = `Part ${Object.keys(alone).length + 1} of ${parts.length} \u2026`;
        const share = await runs.without(part, ids);
        if (scanning !== own) break;
        alone[Changes.label(part)] = { share, words: `changes ${percent(share, 1)} of the answer` };
        effects = { ids, alone };
        drawBoard();
      }
    } catch (error) {
      if (error.name !== "AbortError") notice(error.message);
    }
    if (scanning && scanning !== own) return; // the next scan has begun
    scanning = null;
    find("scan").textContent = SCAN.start;
    const done = Object.keys(alone).length === parts.length;
    const [name, worst] = Object.entries(alone).sort((a, b) => b[1].share - a[1].share)[0] ?? [];
    find("scan-note").textContent = done
      ? `The darker a switch, the more the answer changes without this part. Most without ${name}: ${percent(worst.share, 1)}.`
      : "Stopped.";
    document.body.dataset.scanned = done ? "yes" : "no";
    readSecond();
  }

  // ---- Drawing ------------------------------------------------------------------------------------------------------

  function drawBoard() {
    ExplorerBoard.draw(state, view.tool, effects?.alone);
    if (!effects && document.body.dataset.scanned === "yes") {
      find("scan-note").textContent = "";
      delete document.body.dataset.scanned;
    }
  }

  // Everything that shows the state itself, before anything is computed.
  function drawControls() {
    ExplorerControls.draw(state, view, { layers, symbols, cipher: cipherText(), second: ExplorerText.read(state.second, symbols) });
    if (state.second !== secondRead) find("second-answer").textContent = ""; // it was about another text
    drawBoard();
    ExplorerCompare.drawChanges(state, (undo) => change(undo));
    for (const [id, enabled] of [["undo", past.past.length], ["redo", past.future.length], ["reset", Changes.count(state)]]) {
      ExplorerDom.setEnabled(find(id), enabled);
    }
  }

  function drawTextNote(reading) {
    const unfit = !state.key && state.plain && reading.ids.length && !solutionOf(reading);
    const note = unfit ? " The solution has another length than the cryptogram, so errors are not counted." : "";
    find("text-note").textContent = (ExplorerText.remarks(reading, longest) + note).trim();
  }

  function drawResults() {
    if (!results) return;
    const { reading, before, now, solution } = results;
    const layer = layerOf();
    const answer = now.answer[layer];
    const key = ExplorerText.keyOf(reading, answer, symbols);
    const keyBefore = before && ExplorerText.keyOf(reading, before.answer[layer], symbols);
    const shown = ExplorerText.writeBack(reading, answer, symbols);
    const truth = solution && ExplorerText.keyOf(reading, solution, symbols);
    const found = {
      reading, symbols, solution, answer, shown, key, keyBefore,
      certainty: ExplorerText.certainty(now, layer, header.config),
      certaintyBefore: before && ExplorerText.certainty(before, layer, header.config),
      before: before && ExplorerText.writeBack(reading, before.answer[layer], symbols),
      answers: now.answer,
      answerBefore: before?.answer[layer],
      table: now.key[layer],
      tableBefore: before?.key[layer],
      layerWords: layer === layers ? "" : ` after layer ${layer}`,
    };
    ExplorerAnswer.drawCells(found);
    ExplorerAnswer.drawLegend(found);
    ExplorerAnswer.drawLayers(found, layer);
    ExplorerCompare.draw(found);
    const shared = { now: now.key[layer], before: before?.key[layer] ?? null, pins: state.pin, truth, view: view.keyView };
    ExplorerKey.drawMatrix({ ...shared, present: new Set(Object.keys(key)) });
    ExplorerKey.drawConfidence({ ...shared, key, keyBefore, certainty: found.certainty });
    find("key-truth").hidden = !truth;
    find("key-views").hidden = !before;
    drawAttention(shown);
  }

  function drawAttention(shown) {
    const { reading, now } = results;
    const [block, head] = state.head ?? (view.head ??= runs.sharpestHead(now));
    view.place = Math.min(view.place, reading.ids.length - 1);
    const slider = find("attention-place");
    slider.max = reading.ids.length - 1;
    setValue(slider, String(view.place));
    ExplorerAttention.show({
      pattern: runs.attention(now, block, head),
      cipher: reading.places.map((place) => reading.characters[place]),
      plain: reading.places.map((place) => shown[place]),
      place: view.place,
      name: Changes.words(["head", block, head]),
    });
    setValue(find("attention-block"), String(block));
    setValue(find("attention-head"), String(head));
    slider.setAttribute("aria-valuetext", find("attention-character").textContent);
  }

  // ---- What a reader does -------------------------------------------------------------------------------------------

  function showLayer(layer) {
    change((next) => { next.layer = layer === layers ? null : layer; }, "view");
  }

  function stopPlaying() {
    clearInterval(view.playing);
    view.playing = null;
    drawControls();
  }

  function play() {
    if (view.playing) return stopPlaying();
    if (layerOf() === layers) showLayer(0);
    view.playing = setInterval(() => {
      const next = layerOf() + 1;
      if (next >= layers) stopPlaying();
      showLayer(Math.min(next, layers));
    }, PAUSE.layer);
    return drawControls();
  }

  function useSwitch(part) {
    const { kind, factor } = Changes.settingOf(state, part);
    const wanted = Number(find("factor").value);
    const tool = part[0] === "resid" ? "patch" : view.tool; // a stream can only be patched
    const again = kind === tool && (kind !== "scale" || factor === wanted);
    if (tool === "scale") view.scaled = again ? null : part;
    change((next) => Changes.set(next, part, again ? "on" : tool, wanted));
    drawControls();
  }

  function pin(cipher, plain) {
    const already = state.pin.some((pair) => Changes.same(pair, [cipher, plain]));
    change((next) => Changes.pin(next, cipher, already ? null : plain));
  }

  async function copyLink() {
    writeLink();
    let words = "Link copied: it opens this file as you see it now. For a copy elsewhere, add the part from # on to its address.";
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      words = "The browser does not let this page copy; the link is in the address bar.";
    }
    find("dock-words").textContent = words;
  }

  const actions = {
    change, showLayer, stopPlaying, play, scan, useSwitch, copyLink, readSecond, drawControls, drawResults,
    undo: () => restore(past.undo()),
    redo: () => restore(past.redo()),
    cipherText,
    length: () => Math.min(ExplorerText.read(cipherText(), symbols).ids.length, longest),
    answerText: () => (results ? ExplorerText.writeBack(results.reading, results.now.answer[layers], symbols).join("") : ""),
    state: () => state,
  };

  // Show the fields that a state fills in but a reader would not see.
  function unfold() {
    if (state.patch.length) view.tool = "patch";
    find("solution-box").open = Boolean(state.plain && !state.key);
  }

  function begin() {
    ExplorerBoard.build({ layers, heads }, useSwitch);
    ExplorerKey.build(pin);
    ExplorerAttention.build((place) => { view.place = place; drawResults(); });
    ExplorerControls.build({ layers, heads }, view, actions);
    state = firstState();
    past = new ExplorerHistory(state);
    unfold();
    drawControls();
    compute();
    window.addEventListener("hashchange", () => {
      if (!location.hash.startsWith(ExplorerState.MARK)) return; // a place on the page, not a state
      const found = ExplorerState.fromFragment(location.hash, header);
      notice(found.problem && `${found.problem} The page stays as it is.`);
      if (found.problem || !Object.keys(found.state).length) return;
      enter(Changes.withText(found.state, ExplorerExamples[0]), null);
      unfold();
      drawControls();
    });
  }

  begin();
})();
