// Small helpers to build and find elements.
"use strict";

var ExplorerDom = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const find = (id) => document.getElementById(id);

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === false) continue;
      if (name === "text") element.textContent = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // Replace a value only if it differs, so that the cursor of a field stays where it is.
  function setValue(field, value) {
    if (field.value !== value) field.value = value;
  }

  // A button that cannot be used now keeps the focus, so it is not disabled for the browser.
  const setEnabled = (button, enabled) => button.setAttribute("aria-disabled", String(!enabled));

  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u00a0%`;
  const plural = (count, word, many = `${word}s`) => `${count.toLocaleString("en")} ${count === 1 ? word : many}`;

  // A difference of two shares in percentage points; what rounds to nothing has no sign.
  function signed(share) {
    const size = (100 * Math.abs(share)).toFixed(1);
    if (Number(size) === 0) return size;
    return `${share < 0 ? "\u2212" : "+"}${size}`;
  }

  return { find, make, draw, setValue, setEnabled, percent, plural, signed };
})();
