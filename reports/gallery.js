"use strict";
// Filters the cards of the gallery by analysis, model and words.
document.addEventListener("DOMContentLoaded", () => {
  const field = (name) => document.getElementById(`filter-${name}`);
  const form = document.querySelector(".tools");
  if (!form) return;
  const cards = [...document.querySelectorAll(".card")];

  function filter() {
    const words = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const card of cards) {
      const { analysis, model, text } = card.dataset;
      const fits = (wanted, value) => wanted === "" || wanted === value;
      card.hidden = !(
        fits(field("analysis").value, analysis) && fits(field("model").value, model) && words.every((word) => text.includes(word))
      );
      left += card.hidden ? 0 : 1;
    }
    field("count").textContent = left === cards.length ? `${left} report${left === 1 ? "" : "s"}` : `${left} of ${cards.length} reports`;
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter(); // a reload may keep what was typed
});
