"use strict";
// Draws the figures of a report, follows the theme, prints in light, saves pictures and data, sorts tables, and shows
// the weights of the symbol that a reader chooses in a text with heat.
(() => {
  const PAPER = { width: 680, shrink: 0.72 };
  const HEIGHT = 400;
  const EXPORT_WIDTH = 900;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const copy = (value) => JSON.parse(JSON.stringify(value));
  let themes;

  function save(content, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // A picture is for paper and slides: always light, on white.
  function savePicture(plot, format) {
    const layout = { ...copy(plot.layout), template: themes.light, paper_bgcolor: "#ffffff", width: EXPORT_WIDTH };
    delete layout.autosize;
    const height = Number(plot.dataset.height);
    const options = { format, width: EXPORT_WIDTH, height, scale: format === "png" ? 3 : 1, filename: plot.dataset.name };
    return Plotly.downloadImage({ data: copy(plot.data), layout, config: config(plot) }, options);
  }

  // Icons for Plotly's toolbar: a picture frame, and an arrow to a line.
  const ICONS = {
    svg: { width: 24, height: 24, path: "M3 3h6v2H5v4H3zM15 3h6v6h-2V5h-4zM3 15h2v4h4v2H3zM19 15h2v6h-6v-2h4zM8 11h8v2H8z" },
    png: { width: 24, height: 24, path: "M11 3h2v9l3-3 1.4 1.4L12 16l-5.4-5.6L8 9l3 3zM4 18h16v2H4z" },
  };

  function config(plot) {
    return {
      responsive: true,
      displaylogo: false,
      displayModeBar: true,
      typesetMath: false,
      topojsonURL: "",
      plotlyServerURL: "",
      modeBarButtonsToRemove: [
        "toImage", "downloadImage", "sendChartToCloud", "sendDataToCloud", "editInChartStudio", "select2d", "lasso2d", "autoScale2d",
      ],
      modeBarButtonsToAdd: ["svg", "png"].map((format) => ({
        name: `save-${format}`,
        title: `Download as ${format.toUpperCase()}`,
        icon: ICONS[format],
        click: () => savePicture(plot, format),
      })),
    };
  }

  function draw(plot) {
    const figure = read(plot.dataset.source);
    const layout = { ...figure.layout, template: themes[document.documentElement.dataset.theme] };
    plot.dataset.height = layout.height ?? HEIGHT;
    plot.style.height = `${plot.dataset.height}px`; // the element sizes the figure, so that it follows the window
    delete layout.width;
    delete layout.height;
    return Plotly.newPlot(plot, { data: figure.data, layout, frames: figure.frames, config: config(plot) });
  }

  function drawAll() {
    for (const plot of document.querySelectorAll(".plot")) {
      const note = plot.parentElement.querySelector("p.undrawn");
      const fail = (reason) => {
        note.textContent = reason;
        note.hidden = false;
        plot.hidden = true;
      };
      if (!window.Plotly) {
        fail("This figure needs the file plotly.min.js in the folder above; `alice-interp report --standalone` makes a page without it.");
        continue;
      }
      plot.addEventListener("keydown", (event) => moveSlider(plot, event));
      draw(plot).then(() => { plot.dataset.drawn = "yes"; }, (error) => fail(`This figure could not be drawn: ${error.message}`));
    }
  }

  // Plotly's slider follows only the pointer; this adds the arrow keys.
  function moveSlider(plot, event) {
    const slider = plot._fullLayout?.sliders?.[0];
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!slider || !move) return;
    event.preventDefault();
    const active = Math.min(Math.max(slider.active + move, 0), slider.steps.length - 1);
    const step = slider.steps[active];
    if (["restyle", "relayout", "update", "animate"].includes(step.method)) {
      Plotly[step.method](plot, ...step.args).then(() => Plotly.relayout(plot, { "sliders[0].active": active }));
    }
  }

  function recolour(mode) {
    if (!window.Plotly) return;
    for (const plot of document.querySelectorAll(".plot[data-drawn]")) Plotly.relayout(plot, { template: themes[mode] });
  }

  // The browser does not say how wide the paper is, so the figures get a width that fits A4 and letter.
  function onPaper() {
    for (const details of document.querySelectorAll("details")) details.open = true;
    if (!window.Plotly) return;
    for (const plot of document.querySelectorAll(".plot[data-drawn]")) {
      const height = Math.round(plot.dataset.height * PAPER.shrink);
      plot.style.height = `${height}px`;
      Plotly.relayout(plot, { template: themes.light, width: PAPER.width, height });
    }
  }

  function offPaper() {
    if (!window.Plotly) return;
    for (const plot of document.querySelectorAll(".plot[data-drawn]")) {
      plot.style.height = `${plot.dataset.height}px`;
      const template = themes[document.documentElement.dataset.theme];
      Plotly.relayout(plot, { template, width: null, height: null, autosize: true });
    }
  }

  function sort(button) {
    const header = button.closest("th");
    const body = button.closest("table").tBodies[0];
    const column = Number(button.dataset.sort);
    const down = header.getAttribute("aria-sort") === "ascending";
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const numeric = header.classList.contains("number");
    const compare = numeric
      ? (a, b) => (Number(a) - Number(b)) || (Number.isNaN(Number(a)) - Number.isNaN(Number(b)))
      : (a, b) => a.localeCompare(b);
    const rows = [...body.rows].sort((a, b) => compare(value(a), value(b)));
    body.append(...(down ? rows.reverse() : rows));
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  function choose(row, symbol) {
    const { weights, limit, unit, notes } = read(row.dataset.source);
    if (!Object.hasOwn(weights, symbol)) return;
    for (const button of row.querySelectorAll("[data-symbol]")) {
      button.setAttribute("aria-pressed", button.dataset.symbol === symbol);
    }
    for (const cell of row.querySelectorAll(".cell")) {
      const place = Number(cell.dataset.place);
      const weight = weights[symbol][place];
      const number = weight === null ? "" : `${weight} ${unit}`.trim().replace("-", "\u2212");
      cell.style.setProperty("--heat", weight === null ? 0 : Math.min(1, Math.abs(weight) / limit));
      cell.classList.toggle("cold", weight < 0);
      cell.classList.toggle("chosen", cell.firstElementChild.textContent === symbol);
      cell.title = [number, notes[place]].filter(Boolean).join(" \u00b7 ");
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const cell = event.target.closest(".cell.clickable");
    if (cell) choose(cell.closest(".heat-row"), cell.firstElementChild.textContent);
    if (button?.dataset.symbol !== undefined) choose(button.closest(".heat-row"), button.dataset.symbol);
    const figure = button?.closest("figure");
    if (button?.dataset.sort) sort(button);
    if (!figure || !button.dataset.save) return;
    const plot = figure.querySelector(".plot");
    if (button.dataset.save === "csv") {
      save(read(`${figure.id}-data`).csv, `${(plot ?? figure).dataset.name}.csv`, "text/csv;charset=utf-8");
    } else if (window.Plotly) {
      savePicture(plot, button.dataset.save);
    }
  });
  document.addEventListener("themechange", (event) => recolour(event.detail));
  window.addEventListener("beforeprint", onPaper);
  window.addEventListener("afterprint", offPaper);
  document.addEventListener("DOMContentLoaded", () => {
    themes = read("plot-themes");
    drawAll();
  });
})();
