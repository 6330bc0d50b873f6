// The board of switches: a row for each block, a switch for each head and MLP; for patches also the residual stream.
"use strict";

var ExplorerBoard = (() => {
  const { find, make } = ExplorerDom;
  const SIGNS = { on: "", off: "off", patch: "P" };
  const CLASSES = { on: "on", off: "off", scale: "scaled", patch: "patched" };
  let switches = []; // [{part, button}]

  function build({ layers, heads }, onSwitch) {
    switches = [];
    const one = (part) => {
      const button = make("button", { type: "button", class: "switch", "data-part": JSON.stringify(part) });
      switches.push({ part, button });
      return make("td", { class: part[0] }, button);
    };
    const head = make("tr", {}, make("th", { scope: "col", text: "Block" }),
      ...Array.from({ length: heads }, (_, number) => make("th", { scope: "col", text: `H${number}`, title: `head ${number}` })),
      make("th", { scope: "col", text: "MLP" }), make("th", { scope: "col", class: "resid", text: "Stream", title: "residual stream after the block" }));
    const first = make("tr", { class: "resid" }, make("th", { scope: "row", text: "in", title: "embedding" }),
      ...Array.from({ length: heads + 1 }, () => make("td")), one(["resid", 0]));
    const rows = Array.from({ length: layers }, (_, block) => make("tr", {}, make("th", { scope: "row", text: block }),
      ...Array.from({ length: heads }, (_, number) => one(["head", block, number])), one(["mlp", block]), one(["resid", block + 1])));
    find("board").replaceChildren(make("thead", {}, head), make("tbody", {}, first, ...rows));
    find("board").addEventListener("click", (event) => {
      const button = event.target.closest(".switch");
      if (button) onSwitch(JSON.parse(button.dataset.part));
    });
  }

  // effects: what each part does alone, {label: share of letters that change}, or null
  function draw(state, tool, effects) {
    find("board").classList.toggle("with-stream", tool === "patch" || state.patch.some(([kind]) => kind === "resid"));
    for (const { part, button } of switches) {
      const { kind, factor } = ExplorerChanges.settingOf(state, part);
      const effect = effects?.[ExplorerChanges.label(part)];
      button.className = `switch ${CLASSES[kind]}`;
      button.textContent = kind === "scale" ? `\u00d7${factor}` : SIGNS[kind];
      button.disabled = part[0] === "resid" && tool !== "patch" && kind === "on";
      const now = { on: "on", off: "off", patch: "patched", scale: `times ${factor}` }[kind];
      button.setAttribute("aria-label", `${ExplorerChanges.words(part)}: ${now}${effect === undefined ? "" : `, alone ${effect.words}`}`);
      button.title = button.getAttribute("aria-label");
      button.style.setProperty("--effect", effect === undefined ? 0 : effect.share.toFixed(3));
    }
  }

  const parts = () => switches.map(({ part }) => part).filter(([kind]) => kind !== "resid");

  return { build, draw, parts };
})();
