// Where a head looks: arcs over the text, a map, and the strongest pairs in words.
"use strict";

var ExplorerAttention = (() => {
  const { find, make, draw, percent } = ExplorerDom;
  const MOST_ARCS = 300;
  const WEAKEST = 0.04;
  const LISTED = 6;
  const CELL = { narrowest: 11, widest: 20 };
  const HEIGHT = { arcs: 150, text: 40 };
  let shown = null;
  let room = 0; // width for the arcs

  // shown: {pattern (pos * pos), cipher: [character], plain: [character], place: -1 for all, name}
  function show(found) {
    shown = found;
    const arcs = chosenArcs();
    drawArcs(arcs);
    drawMap();
    drawWords(arcs);
  }

  // Return [{from, to, weight}], the strongest first: of one character, or for each its strongest.
  function chosenArcs() {
    const { pattern, cipher, place } = shown;
    const n = cipher.length;
    const arcs = [];
    for (let from = 0; from < n; from += 1) {
      if (place >= 0 && from !== place) continue;
      let best = 0;
      for (let to = 0; to < n; to += 1) {
        if (pattern[from * n + to] > pattern[from * n + best]) best = to;
        if (place >= 0 && pattern[from * n + to] >= WEAKEST) arcs.push({ from, to, weight: pattern[from * n + to] });
      }
      if (place < 0) arcs.push({ from, to: best, weight: pattern[from * n + best] });
    }
    return arcs.sort((a, b) => b.weight - a.weight).slice(0, MOST_ARCS);
  }

  function drawArcs(arcs) {
    const { cipher, plain, place } = shown;
    const strongest = arcs[0].weight;
    room = find("arcs-scroll").clientWidth;
    const cell = Math.min(CELL.widest, Math.max(CELL.narrowest, (room - 4) / cipher.length));
    const width = Math.ceil(cell * cipher.length);
    const far = Math.max(...arcs.map(({ from, to }) => Math.abs(from - to)), 1);
    const middle = (number) => (number + 0.5) * cell;
    const svg = find("arcs");
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT.arcs + HEIGHT.text}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", HEIGHT.arcs + HEIGHT.text);
    const paths = [...arcs].reverse().map(({ from, to, weight }) => {
      const [x, y] = [middle(from), middle(to)];
      const high = from === to ? 10 : 8 + (HEIGHT.arcs - 16) * Math.sqrt(Math.abs(from - to) / far);
      const base = HEIGHT.arcs;
      const shape = from === to
        ? `M${x - 2} ${base} C${x - cell} ${base - 2 * high} ${x + cell} ${base - 2 * high} ${x + 2} ${base}`
        : `M${x} ${base} C${x} ${base - high * 1.33} ${y} ${base - high * 1.33} ${y} ${base}`;
      const path = draw("path", { d: shape, class: from < to ? "ahead" : "back", "stroke-width": (0.8 + 2.4 * (weight / strongest)).toFixed(2) });
      path.style.opacity = (0.1 + 0.9 * (weight / strongest) ** 1.5).toFixed(3);
      path.append(draw("title", { text: `${character(from)} looks at ${character(to)}: ${percent(weight)}` }));
      return path;
    });
    const letters = cipher.map((symbol, number) => draw("g", { class: number === place ? "place chosen" : "place", "data-place": number },
      draw("rect", { x: (number * cell).toFixed(1), y: HEIGHT.arcs + 2, width: cell.toFixed(1), height: HEIGHT.text - 2 }),
      draw("text", { x: middle(number).toFixed(1), y: HEIGHT.arcs + 16, class: "cipher", text: symbol }),
      draw("text", { x: middle(number).toFixed(1), y: HEIGHT.arcs + 33, class: "plain", text: plain[number] })));
    svg.replaceChildren(...paths, ...letters);
    if (place >= 0) keepInView(middle(place));
  }

  function keepInView(x) {
    const box = find("arcs-scroll");
    if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth) box.scrollLeft = x - box.clientWidth / 2;
  }

  function drawMap() {
    const { pattern, cipher, place } = shown;
    const n = cipher.length;
    const canvas = find("map");
    const style = getComputedStyle(document.documentElement);
    const parse = (name) => style.getPropertyValue(name).trim().split(/\s+/).map(Number);
    const ink = parse("--ink");
    const paper = parse("--paper");
    canvas.width = n;
    canvas.height = n;
    const context = canvas.getContext("2d");
    const image = context.createImageData(n, n);
    const strongest = pattern.reduce((most, weight) => Math.max(most, weight), 0);
    for (let pixel = 0; pixel < n * n; pixel += 1) {
      const faded = place >= 0 && Math.floor(pixel / n) !== place ? 0.35 : 1;
      const share = Math.sqrt(pattern[pixel] / strongest) * faded; // small weights stay visible
      for (let channel = 0; channel < 3; channel += 1) {
        image.data[4 * pixel + channel] = paper[channel] + (ink[channel] - paper[channel]) * share;
      }
      image.data[4 * pixel + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  const character = (number) => {
    const symbol = shown.cipher[number] === " " ? "space" : shown.cipher[number];
    const read = shown.cipher[number] === shown.plain[number] ? "" : ` (read ${shown.plain[number]})`;
    return `${symbol}${read} at ${number + 1}`;
  };

  function drawWords(arcs) {
    const { place, name } = shown;
    const who = place < 0 ? "Each arc leads from a character to the one it looks at most. The strongest:" : `${character(place)} looks at:`;
    find("attention-words").textContent = `${name}. ${who}`;
    find("attention-list").replaceChildren(...arcs.slice(0, LISTED).map(({ from, to, weight }) =>
      make("li", {}, make("b", { text: percent(weight) }), ` ${place < 0 ? `${character(from)} looks at ` : ""}${character(to)}`)));
    find("attention-character").textContent = place < 0 ? "all" : character(place);
  }

  // Return [row, column] of a pointer on the map.
  function mapPlace(event) {
    const box = find("map").getBoundingClientRect();
    const n = shown.cipher.length;
    const inside = (value) => Math.min(n - 1, Math.max(0, Math.floor(value * n)));
    return [inside((event.clientY - box.top) / box.height), inside((event.clientX - box.left) / box.width)];
  }

  function build(onPlace) {
    find("arcs").addEventListener("click", (event) => {
      const letter = event.target.closest(".place");
      if (letter) onPlace(Number(letter.dataset.place) === shown.place ? -1 : Number(letter.dataset.place));
    });
    find("map").addEventListener("click", (event) => shown && onPlace(mapPlace(event)[0]));
    find("map").addEventListener("pointermove", (event) => {
      if (!shown) return;
      const [from, to] = mapPlace(event);
      find("map-note").textContent = `${character(from)} looks at ${character(to)}: ${percent(shown.pattern[from * shown.cipher.length + to], 1)}`;
    });
    find("arcs-scroll").addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !shown) return;
      event.preventDefault();
      onPlace(Math.min(shown.cipher.length - 1, Math.max(-1, shown.place + step)));
    });
    new ResizeObserver(() => {
      if (shown && find("arcs-scroll").clientWidth !== room) drawArcs(chosenArcs());
    }).observe(find("arcs-scroll"));
    document.addEventListener("themechange", () => shown && drawMap());
  }

  return { build, show };
})();
