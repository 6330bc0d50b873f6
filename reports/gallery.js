"use strict";
// Shows the reports that entries.js lists: newest first, filtered, some at a time. All text is set as text, never as HTML.
(() => {
  const AT_ONCE = 60;
  const reports = new Map();
  let sorted = [];
  let fitting = [];
  let shown = 0;

  // Called by every line of entries.js; of two lines for the same folder the later one counts.
  window.addReport = (report) => reports.set(report.address, report);
  let failed = false;
  window.addEventListener("error", () => { failed = true; }, true); // entries.js is missing or damaged

  const find = (selector) => document.querySelector(selector);
  const field = (name) => document.getElementById(`filter-${name}`);

  function element(tag, text, name) {
    const made = document.createElement(tag);
    made.textContent = text ?? "";
    if (name) made.className = name;
    return made;
  }

  function card(report) {
    const frame = element("div", "", "frame");
    frame.setAttribute("aria-hidden", "true");
    if (report.picture) {
      const picture = element("img", "", "sketch");
      picture.loading = "lazy";
      picture.alt = "";
      picture.src = `${report.address}/thumbnail.svg`;
      frame.append(picture);
    } else {
      frame.append(element("span", report.value, "blank"));
    }
    const body = element("div", "", "body");
    body.append(element("h2", report.title));
    body.append(element("span", [report.analysis, report.models.join(", ")].filter(Boolean).join(" · "), "facts"));
    body.append(element("span", report.date || report.name, "facts date"));
    if (report.metric) {
      const line = element("span", "", "metric-line");
      line.append(element("b", report.value), ` ${report.metric}`);
      body.append(line);
    }
    const link = document.createElement("a");
    link.href = `${report.address}/report.html`;
    link.append(frame, body);
    const made = element("li", "", "card");
    made.append(link);
    return made;
  }

  function more() {
    find(".cards").append(...fitting.slice(shown, shown + AT_ONCE).map(card));
    shown = Math.min(shown + AT_ONCE, fitting.length);
    find("#more").hidden = shown === fitting.length;
  }

  function filter() {
    const words = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [analysis, model] = [field("analysis").value, field("model").value];
    fitting = sorted.filter(
      (report) =>
        (!analysis || report.analysis === analysis) &&
        (!model || report.models.includes(model)) &&
        words.every((word) => report.text.includes(word)),
    );
    const [left, all] = [fitting.length, sorted.length];
    field("count").textContent = left === all ? `${all} report${all === 1 ? "" : "s"}` : `${left} of ${all} reports`;
    find(".cards").replaceChildren();
    shown = 0;
    more();
  }

  function offer(name, values) {
    for (const value of [...new Set(values)].filter(Boolean).sort()) field(name).append(element("option", value));
  }

  function list() {
    const all = [...reports.values()];
    const broken = all.filter((report) => report.problem);
    sorted = all.filter((report) => !report.problem);
    for (const report of sorted) {
      const { name, title, analysis, models, date, metric } = report;
      report.text = [name, title, analysis, ...models, date, metric].join(" ").toLowerCase();
    }
    sorted.sort((a, b) => (a.date === b.date ? (a.name < b.name ? 1 : -1) : a.date < b.date ? 1 : -1));
    find(".broken").hidden = !broken.length;
    for (const report of broken) {
      const line = element("li");
      line.append(element("code", report.name), `: ${report.problem}`);
      find(".broken ul").append(line);
    }
    if (!sorted.length) {
      field("count").textContent = failed
        ? "The list of reports, entries.js, cannot be read; alice-interp view or alice-interp report writes it again."
        : "There are no reports yet; alice-interp run NAME --ckpt base makes one.";
      return;
    }
    offer("analysis", sorted.map((report) => report.analysis));
    offer("model", sorted.flatMap((report) => report.models));
    find(".tools").hidden = false;
    filter();
  }

  document.addEventListener("DOMContentLoaded", () => {
    list();
    find(".tools").addEventListener("input", filter);
    find(".tools").addEventListener("submit", (event) => event.preventDefault());
    find("#more").addEventListener("click", more);
    new IntersectionObserver((seen) => seen[0].isIntersecting && more(), { rootMargin: "600px" }).observe(find("#more"));
  });
})();
