// The key that the model believes in: a matrix of probabilities, and how sure it is of each letter.
"use strict";

var ExplorerKey = (() => {
  const { find, make, percent, signed } = ExplorerDom;
  const { LETTERS } = ExplorerText;
  const N = LETTERS.length;
  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -N], End: [0, N] };
  let cells = []; // [cipher][plain]
  let rows = [];
  let focus = [0, 0];

  function build(onChoose) {
    const heads = [...LETTERS].map((letter) => make("th", { scope: "col", text: letter }));
    const body = make("tbody");
    rows = [...LETTERS].map((letter) => make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader", text: letter })));
    cells = rows.map((row, cipher) => [...LETTERS].map((_, plain) => {
      const cell = make("td", { role: "gridcell", tabindex: "-1", "data-cipher": cipher, "data-plain": plain });
      row.append(cell);
      return cell;
    }));
    body.append(...rows);
    find("matrix").replaceChildren(make("thead", {}, make("tr", {}, make("td"), ...heads)), body);
    cells[0][0].tabIndex = 0;
    const place = (event) => {
      const cell = event.target.closest("td[data-plain]");
      return cell && [Number(cell.dataset.cipher), Number(cell.dataset.plain)];
    };
    find("matrix").addEventListener("click", (event) => place(event) && onChoose(...place(event).map((number) => LETTERS[number])));
    find("matrix").addEventListener("keydown", (event) => {
      const [cipher, plain] = place(event) ?? focus;
      if (event.key === "Enter" || event.key === " ") onChoose(LETTERS[cipher], LETTERS[plain]);
      else if (MOVES[event.key]) move(cipher + MOVES[event.key][0], plain + MOVES[event.key][1]);
      else return;
      event.preventDefault();
    });
    for (const kind of ["pointerover", "focusin"]) {
      find("matrix").addEventListener(kind, (event) => { if (place(event)) find("matrix-note").textContent = describe(...place(event)); });
    }
  }

  function move(cipher, plain) {
    cells[focus[0]][focus[1]].tabIndex = -1;
    focus = [cipher, plain].map((number) => Math.min(Math.max(number, 0), N - 1));
    const cell = cells[focus[0]][focus[1]];
    cell.tabIndex = 0;
    cell.focus();
  }

  const describe = (cipher, plain) => cells[cipher][plain].getAttribute("aria-label");

  const HINTS = {
    now: "The stronger the colour, the surer.",
    before: "The stronger the colour, the surer the network was before your changes.",
    difference: "Blue: more probable than before your changes. Red: less.",
  };

  // now, before: probabilities (26 * 26), before null without changes; view: "now", "before" or "difference"
  function drawMatrix({ now, before, view, present, truth, pins }) {
    const table = view === "before" && before ? before : now;
    find("key-hint").textContent = HINTS[before ? view : "now"];
    cells.forEach((line, cipher) => {
      const inText = present.has(LETTERS[cipher]);
      rows[cipher].classList.toggle("absent", !inText);
      line.forEach((cell, plain) => {
        const change = before ? now[cipher * N + plain] - before[cipher * N + plain] : 0;
        const share = view === "difference" && before ? change : table[cipher * N + plain];
        const pinned = pins.some(([one, other]) => one === LETTERS[cipher] && other === LETTERS[plain]);
        const right = truth?.[LETTERS[cipher]] === LETTERS[plain];
        const drawn = [share.toFixed(4), view, pinned, right, inText].join();
        if (cell.drawn === drawn) return; // most cells stay, and styling them takes most of the time
        cell.drawn = drawn;
        cell.style.setProperty("--heat", Math.min(1, Math.abs(share)).toFixed(3));
        cell.className = [share < 0 && "less", right && "right", pinned && "pinned", Math.abs(share) > 0.55 && "full"].filter(Boolean).join(" ");
        cell.textContent = Math.abs(share) >= 0.095 ? Math.round(100 * Math.abs(share)) : "";
        const amount = view === "difference" && before ? `${signed(share)}\u00a0%` : percent(share, 1);
        const facts = [right && "right", pinned && "pinned", !inText && "not in the text"].filter(Boolean);
        cell.setAttribute("aria-label", [`${LETTERS[cipher]} stands for ${LETTERS[plain]}: ${amount}`, ...facts].join(", "));
      });
    });
    const shown = document.activeElement?.closest?.("#matrix td[data-plain]");
    find("matrix-note").textContent = shown ? shown.getAttribute("aria-label") : "";
  }

  // One line for each cipher letter of the text: answer, probability as a bar, and the letters that come next.
  function drawConfidence({ now, before, key, keyBefore, certainty, truth, pins }) {
    const lines = Object.keys(key).map((cipher) => {
      const row = LETTERS.indexOf(cipher);
      const ranked = [...LETTERS].map((plain, number) => [now[row * N + number], plain]).sort((a, b) => b[0] - a[0]);
      const share = certainty[cipher];
      const others = ranked.filter(([other, plain]) => plain !== key[cipher] && other >= 0.01).slice(0, 2);
      const changed = before && keyBefore[cipher] !== key[cipher];
      const wrong = truth && truth[cipher] !== key[cipher];
      const line = make("li", { class: [changed && "changed", wrong && "wrong"].filter(Boolean).join(" ") },
        make("span", { class: "pair" }, `${cipher} `, make("span", { "aria-hidden": "true", text: "\u2192" }), make("span", { class: "hidden-label", text: "is" }), " ", make("b", { text: key[cipher] })),
        make("span", { class: "bar", "aria-hidden": "true" }, make("i")),
        make("span", { class: "share", text: percent(share) }),
        make("span", { class: "others" }, notes({ changed, wrong, others, was: keyBefore?.[cipher], truth: truth?.[cipher], pinned: pins.some(([one]) => one === cipher) })));
      line.querySelector(".bar i").style.setProperty("--share", share.toFixed(3));
      return line;
    });
    find("confidence").replaceChildren(...lines);
  }

  function notes({ changed, wrong, others, was, truth, pinned }) {
    const found = [
      pinned && "pinned", wrong && `should be ${truth}`, changed && `was ${was}`,
      others.length && `or ${others.map(([share, plain]) => `${plain} ${percent(share)}`).join(", ")}`,
    ];
    return found.filter(Boolean).join(" \u00b7 ");
  }

  return { build, drawMatrix, drawConfidence };
})();
