// What the page asks of the model, and which of the answers it keeps.
"use strict";

var ExplorerRuns = (() => {
  const KEPT = 8;

  return class {
    constructor(runner) {
      this.runner = runner;
      this.kept = new Map(); // results of the model without changes, by text
      this.pattern = null;
    }

    // Run the model without changes.
    async whole(ids) {
      const name = ids.join(",");
      if (!this.kept.has(name)) {
        this.kept.set(name, await this.runner.run(ids, {}));
        if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
      }
      return this.kept.get(name);
    }

    // Return the share of characters whose answer changes without a part, 0 to 1.
    async without(part, ids) {
      const before = await this.whole(ids);
      const now = await this.runner.run(ids, { interventions: ExplorerState.interventions({ off: [part] }) });
      return ExplorerText.differences([...before.answer.at(-1)], now.answer.at(-1)) / ids.length;
    }

    // Return where each character looks, (pos * pos); the last head is kept, since a reader looks at it at many layers.
    attention(result, block, head) {
      const kept = this.pattern;
      if (kept?.result !== result || kept.block !== block || kept.head !== head) {
        this.pattern = { result, block, head, weights: AliceEngine.attention(result, this.runner.header, block, head) };
      }
      return this.pattern.weights;
    }

    // Return [block, head] of the head whose characters look most sharply at one place: worth a first look.
    sharpestHead({ sharp }) {
      const all = sharp.flatMap((heads, block) => [...heads].map((share, head) => ({ share, place: [block, head] })));
      return all.reduce((most, one) => (one.share > most.share ? one : most)).place;
    }
  };
})();
