// Undo and redo. Changes of the same kind in a row, such as typing, are one step; looking somewhere else is none.
"use strict";

var ExplorerHistory = (() => {
  const STEPS = 200;
  const VIEW = ["layer", "head"]; // what is looked at: part of a link, but not undone
  const copy = (state) => JSON.parse(JSON.stringify(state));

  return class {
    constructor(state) {
      this.past = [];
      this.future = [];
      this.now = copy(state);
      this.kind = null;
    }

    // Remember a state; `kind` says what was changed, null for something that never joins the step before.
    add(state, kind) {
      if (JSON.stringify(state) === JSON.stringify(this.now)) return;
      if (kind !== "view") {
        if (kind === null || kind !== this.kind) this.past = [...this.past, this.now].slice(-STEPS);
        this.future = [];
        this.kind = kind;
      }
      this.now = copy(state);
    }

    // Return the state before, or null if there is none.
    undo() {
      return this.move(this.past, this.future);
    }

    redo() {
      return this.move(this.future, this.past);
    }

    move(from, to) {
      if (!from.length) return null;
      to.push(this.now);
      const found = from.pop();
      for (const field of VIEW) found[field] = this.now[field];
      this.now = found;
      this.kind = null;
      return copy(found);
    }
  };
})();
