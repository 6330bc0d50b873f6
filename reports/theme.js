"use strict";
// Light or dark: what the reader chose, else what the system prefers. Runs first, so that the page never flashes.
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const KEY = "alice-interp-theme";

  function stored() {
    try {
      return window.localStorage.getItem(KEY);
    } catch {
      return null; // some browsers give pages from disk no storage
    }
  }

  function store(mode) {
    try {
      window.localStorage.setItem(KEY, mode);
    } catch {
      // the choice then lasts as long as the page
    }
  }

  function show(mode) {
    root.dataset.theme = mode;
    document.dispatchEvent(new CustomEvent("themechange", { detail: mode }));
  }

  const chosen = stored();
  show(chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light");
  system.addEventListener("change", () => {
    if (!stored()) show(system.matches ? "dark" : "light");
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".theme-toggle").addEventListener("click", () => {
      const mode = root.dataset.theme === "dark" ? "light" : "dark";
      store(mode);
      show(mode);
    });
  });
})();
