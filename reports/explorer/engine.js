// ALICE in plain JavaScript: the forward pass of alice/model, with every part open to intervention.
//
// The only place where the forward pass exists twice; tests hold it to PyTorch. It knows nothing of a page and runs in a
// worker, on a page, or anywhere else. Numbers are computed in double precision from half-precision weights.
//
// Words, as in Python: blocks count from 0; layer 0 is the embedding, layer N the residual stream after block N-1. A model
// of n_layers blocks has the layers 0 to n_layers, and each can be read as an answer. Ids are those of the alphabet
// (padding 0, symbol i has id i + 1). Letters are 0-25. Tables are row-major.
//
// AliceEngine.load(header, bytes) -> model
//     header  {name, config: the fields of config.json, letter_ids: [26 ids], tensors: {name: [offset, shape]}};
//             offsets count half-precision numbers
//     bytes   ArrayBuffer of half-precision weights
// model.steps(ids, options) -> generator that computes in steps of a few milliseconds and returns a result
// model.run(ids, options) -> the same at once
//     options {interventions: [...], second: ids of the text that patches come from, or null}
// result: plain data that can be posted between threads
//     ids      Uint8Array(pos), the text
//     scores   [layer] Float32Array(symbol * symbol): what each cipher symbol stands for, as Python's
//              decode_symbols(soft=True): logits, or for a bijective model logs of the relaxed permutation
//     key      [layer] Float32Array(26 * 26): probability that a cipher letter (row) stands for a plain letter (column)
//     letters  [layer] Uint8Array(symbol): id that each cipher symbol is decoded to; also of symbols not in the text
//     answer   [layer] Uint8Array(pos): id that each character is decoded to
//     sharp    [block] Float64Array(head): mean over the characters of the weight of the place that each looks at most
//     q, k     [block] Float32Array(pos * d_model): rotated queries and keys, for AliceEngine.attention
// AliceEngine.attention(result, header, block, head) -> Float32Array(pos * pos): where each character (row) looks
//
// Interventions are described in interventions.js.
// Every Error that is thrown has a message for a reader.
"use strict";

var AliceEngine = (() => {
  const PAD = 0;
  const LETTERS = 26;
  const ROWS = 64; // rows of a matrix product between two steps

  const { fromHalf, product, softmaxRow, sumOfMost, rmsNorm, addTo, rotaryTable, rotated, assign, logSinkhorn } = AliceNumbers;
  const { NEVER, planned, patch, scale, pinned } = AliceInterventions;

  // x, (rows, inner), times the transpose of a weight, (columns, inner): (rows, columns), in steps.
  function* linear(x, rows, weight) {
    const [columns, inner] = weight.shape;
    const out = new Float64Array(rows * columns);
    for (let i = 0; i < rows; i += ROWS) {
      const count = Math.min(ROWS, rows - i);
      product([out, i * columns, columns], [x, i * inner, inner], [weight.data, 0, inner], count, columns, inner);
      yield;
    }
    return out;
  }

  class Model {
    constructor(header, bytes) {
      this.header = header;
      this.config = header.config;
      this.size = this.config.symbols.length + 1;
      this.weights = {};
      for (const [name, [offset, shape]] of Object.entries(header.tensors)) {
        const count = shape.reduce((a, b) => a * b, 1);
        this.weights[name] = { data: fromHalf(bytes, offset, count), shape };
      }
      this.kept = null; // the text that was run last for patches, with its activations
    }

    weight(name) {
      if (!(name in this.weights)) throw new Error(`The page has no weights called ${name}; write it again.`);
      return this.weights[name];
    }

    run(ids, options = {}) {
      const steps = this.steps(ids, options);
      for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
      }
    }

    *steps(ids, { interventions = [], second = null } = {}) {
      this.check(ids);
      const plan = planned(interventions, this.config);
      let source = null;
      if (plan.patches.length) {
        if (!second || !second.length) throw new Error("A patch needs a second text with letters; type one.");
        this.check(second, "second text");
        if (!this.kept || !identical(this.kept.ids, second)) {
          const activations = { z: [], mlp: [], resid: [] };
          yield* this.forward(second, planned([], this.config), null, activations);
          this.kept = { ids: Uint8Array.from(second), ...activations };
        }
        source = this.kept;
      }
      return yield* this.forward(ids, plan, source, null);
    }

    check(ids, what = "text") {
      if (!ids.length) throw new Error("There is no text yet; type a cryptogram.");
      if (ids.length > this.config.n_ctx) {
        throw new Error(`The ${what} has ${ids.length} characters, and the model reads at most ${this.config.n_ctx}; shorten it.`);
      }
      if (!Array.from(ids).every((id) => id > PAD && id < this.size)) {
        throw new Error(`The ${what} has characters that are not in the model's alphabet; remove them.`);
      }
    }

    // Run all blocks and read every layer; write activations to `keep` if given, and take patches from `source`.
    *forward(ids, plan, source, keep) {
      const result = { ids: Uint8Array.from(ids), scores: [], key: [], letters: [], answer: [], sharp: [], q: [], k: [] };
      const names = renamed(ids, this.header.letter_ids, this.size, this.config.relabel ?? "none");
      const read = Uint8Array.from(ids, (id) => names[id]);
      let stream = yield* this.embedded(read);
      for (let layer = 0; ; layer++) {
        patch(stream, this.config.d_model, 0, this.config.d_model, plan.of("resid", layer), source, source?.resid[layer], ids);
        keep?.resid.push(stream.slice());
        if (!keep) this.decode(stream, read, names, plan.pins, result);
        yield;
        if (layer === this.config.n_layers) break;
        yield* this.block(stream, ids, layer, plan, source, keep, result);
      }
      if (!stream.every(Number.isFinite)) {
        throw new Error("The model computes numbers that are not finite; scale less, or check its weights.");
      }
      return result;
    }

    // The embedding of every position, (pos, d_model).
    *embedded(ids) {
      const { config } = this;
      if (config.variant !== "dynamic") return gathered(this.weight("embed.weight").data, ids, config.d_model);
      const fixed = this.weight("hypernet.embed.weight").data;
      const x = gathered(fixed, ids, config.d_model);
      const table = rotaryTable(config.d_model / config.hyper_heads, ids.length, config.rope_theta, config.hyper_rope_truncated);
      for (let block = 0; block < config.hyper_layers; block++) {
        const attended = yield* this.attend(x, ids.length, `hypernet.blocks.${block}`, config.hyper_heads, table);
        yield* this.write(x, ids.length, `hypernet.blocks.${block}`, attended.z);
        addTo(x, yield* this.mlp(x, ids.length, `hypernet.blocks.${block}`));
      }
      const embeddings = this.looked(x, ids.length);
      if (config.hyper_skip) addTo(embeddings, fixed);
      return gathered(embeddings, ids, config.d_model);
    }

    // What the query of each symbol gathers from the text, (symbol, d_model).
    looked(x, length) {
      const { d_model: width } = this.config;
      const pattern = new Float64Array(this.size * length);
      product([pattern, 0, length], [this.weight("hypernet.query").data, 0, width], [x, 0, width], this.size, length, width);
      const out = new Float64Array(this.size * width);
      for (let symbol = 0; symbol < this.size; symbol++) {
        for (let pos = 0; pos < length; pos++) pattern[symbol * length + pos] *= width ** -0.5;
        softmaxRow(pattern, symbol * length, length);
        mix(out, symbol * width, pattern, symbol * length, x, 0, width, width, length);
      }
      return out;
    }

    // One block of the backbone, which changes the stream, (pos, d_model), in place.
    *block(stream, ids, block, plan, source, keep, result) {
      const { config } = this;
      const length = ids.length;
      const name = `blocks.${block}`;
      const width = config.d_model;
      const dHead = width / config.n_heads;
      const table = rotaryTable(dHead, length, config.rope_theta, false);
      const { z, q, k, sharp } = yield* this.attend(stream, length, name, config.n_heads, table);
      result.sharp.push(sharp);
      result.q.push(Float32Array.from(q));
      result.k.push(Float32Array.from(k));
      keep?.z.push(z.slice());
      for (let head = 0; head < config.n_heads; head++) {
        patch(z, width, head * dHead, dHead, plan.of("head", block, head), source, source?.z[block], ids);
        scale(z, width, head * dHead, dHead, plan.factor("head", block, head));
      }
      yield* this.write(stream, length, name, z);
      const added = yield* this.mlp(stream, length, name);
      keep?.mlp.push(added.slice());
      patch(added, width, 0, width, plan.of("mlp", block), source, source?.mlp[block], ids);
      scale(added, width, 0, width, plan.factor("mlp", block));
      addTo(stream, added);
    }

    // What the heads of a block mix, (pos, d_model), with the rotated queries and keys, and how sharply each head looks.
    *attend(stream, length, name, heads, table) {
      const width = this.config.d_model;
      const dHead = width / heads;
      const normal = rmsNorm(stream, length, this.weight(`${name}.ln1.w`).data, this.config.norm_eps);
      const qkv = yield* linear(normal, length, this.weight(`${name}.attn.qkv.weight`));
      const q = rotated(qkv, length, 3 * width, 0, width, dHead, table);
      const k = rotated(qkv, length, 3 * width, width, width, dHead, table);
      const z = new Float64Array(length * width);
      const values = new Float64Array(width * length); // transposed, so that a product runs along positions
      for (let pos = 0; pos < length; pos++) {
        for (let n = 0; n < width; n++) values[n * length + pos] = qkv[(3 * pos + 2) * width + n];
      }
      const pattern = new Float64Array(ROWS * length);
      const sharp = new Float64Array(heads);
      for (let head = 0; head < heads; head++) {
        const column = head * dHead;
        for (let i = 0; i < length; i += ROWS) {
          const rows = Math.min(ROWS, length - i);
          patternRows(pattern, q, k, i, rows, length, width, column, dHead);
          sharp[head] += sumOfMost(pattern, rows, length) / length;
          product([z, i * width + column, width], [pattern, 0, length], [values, column * length, length], rows, dHead, length);
          yield;
        }
      }
      return { z, q, k, sharp };
    }

    // Add what the heads write to the stream, in place.
    *write(stream, length, name, z) {
      addTo(stream, yield* linear(z, length, this.weight(`${name}.attn.out.weight`)));
    }

    // What a feed-forward layer adds, (pos, d_model): SwiGLU.
    *mlp(stream, length, name) {
      const normal = rmsNorm(stream, length, this.weight(`${name}.ln2.w`).data, this.config.norm_eps);
      const both = yield* linear(normal, length, this.weight(`${name}.mlp.gate_up.weight`));
      const down = this.weight(`${name}.mlp.down.weight`);
      const hidden = down.shape[1];
      const post = new Float64Array(length * hidden);
      for (let pos = 0; pos < length; pos++) {
        for (let n = 0; n < hidden; n++) {
          const gate = both[2 * pos * hidden + n];
          post[pos * hidden + n] = (gate / (1 + Math.exp(-gate))) * both[(2 * pos + 1) * hidden + n];
        }
      }
      return yield* linear(post, length, down);
    }

    // Read a stream as a key and append scores, key, letters and answer to a result.
    decode(stream, read, names, pins, result) {
      const { config, size } = this;
      const normal = rmsNorm(stream, read.length, this.weight("ln_final.w").data, config.norm_eps);
      const { means, counts } = pooled(normal, read, size, config.d_model);
      const head = config.variant === "bijective" ? this.bijective(means, counts, names, pins) : this.separate(means, names, pins);
      const key = new Float32Array(LETTERS * LETTERS);
      const { letter_ids: ids } = this.header;
      for (let c = 0; c < LETTERS; c++) {
        const row = Float64Array.from(head.scores.subarray(ids[c] * size, (ids[c] + 1) * size));
        if (config.variant === "bijective") row.forEach((log, id) => { row[id] = Math.exp(log); });
        else softmaxRow(row, 0, size);
        for (let p = 0; p < LETTERS; p++) key[c * LETTERS + p] = row[ids[p]];
      }
      result.scores.push(Float32Array.from(head.scores));
      result.key.push(key);
      result.letters.push(head.letters);
      result.answer.push(Uint8Array.from(result.ids, (id) => head.letters[id]));
    }

    // Scores of the linear layer after pooling, (symbol, symbol), with rows by the text's own symbols.
    unembedded(rows, names) {
      const { size } = this;
      const width = this.config.d_model;
      const weight = this.weight("head.unembed.weight").data;
      const bias = this.weight("head.unembed.bias").data;
      const own = new Float64Array(size * width);
      for (let id = 0; id < size; id++) own.set(rows.subarray(names[id] * width, (names[id] + 1) * width), id * width);
      const scores = new Float64Array(size * size);
      product([scores, 0, size], [own, 0, width], [weight, 0, width], size, size, width);
      for (let i = 0; i < scores.length; i++) scores[i] += bias[i % size];
      return scores;
    }

    // The head that answers each symbol separately.
    separate(means, names, pins) {
      const { size } = this;
      const scores = this.unembedded(means, names);
      if (!this.config.whole_vocab) for (let row = 0; row < size; row++) scores[row * size + PAD] = NEVER;
      pinned(scores, size, pins.map(({ cipher, plain }) => [this.header.letter_ids[cipher], this.header.letter_ids[plain]]));
      const letters = new Uint8Array(size);
      for (let row = 0; row < size; row++) {
        let best = 0;
        for (let column = 1; column < size; column++) {
          if (scores[row * size + column] > scores[row * size + best]) best = column;
        }
        letters[row] = best;
      }
      return { scores, letters };
    }

    // The head that permutes the letters.
    bijective(means, counts, names, pins) {
      const { config, size } = this;
      const rows = this.queried(means, counts);
      if (config.cross_skip) addTo(rows, means);
      const all = this.unembedded(rows, names);
      const moved = config.whole_vocab ? Array.from({ length: size }, (_, id) => id) : this.header.letter_ids;
      const n = moved.length;
      const table = new Float64Array(n * n);
      moved.forEach((from, i) => moved.forEach((to, j) => { table[i * n + j] = all[from * size + to]; }));
      const place = (letter) => moved.indexOf(this.header.letter_ids[letter]);
      pinned(table, n, pins.map(({ cipher, plain }) => [place(cipher), place(plain)]));
      const letters = Uint8Array.from({ length: size }, (_, id) => id);
      assign(table, n).forEach((column, row) => { letters[moved[row]] = moved[column]; });
      for (let i = 0; i < table.length; i++) table[i] /= config.sinkhorn_tau;
      logSinkhorn(table, n, config.sinkhorn_iters);
      const scores = new Float64Array(size * size).fill(NEVER);
      for (let id = 0; id < size; id++) scores[id * size + id] = 0;
      moved.forEach((from, i) => moved.forEach((to, j) => { scores[from * size + to] = table[i * n + j]; }));
      return { scores, letters };
    }

    // What the query of each symbol gathers from the pooled vectors of the symbols present, (symbol, d_model).
    queried(means, counts) {
      const { size } = this;
      const { d_model: width, cross_heads: heads } = this.config;
      const dHead = width / heads;
      const query = this.weight("head.query").data;
      const out = new Float64Array(size * width);
      const pattern = new Float64Array(size * size);
      for (let head = 0; head < heads; head++) {
        const start = head * dHead;
        product([pattern, 0, size], [query, start, width], [means, start, width], size, size, dHead);
        for (let row = 0; row < size; row++) {
          for (let id = 0; id < size; id++) {
            pattern[row * size + id] = pattern[row * size + id] * dHead ** -0.5 + Math.log(counts[id]);
          }
          softmaxRow(pattern, row * size, size);
          mix(out, row * width + start, pattern, row * size, means, start, width, dHead, size);
        }
      }
      return out;
    }
  }

  // Attention of `rows` queries from number i on, (rows, pos), into `out`.
  function patternRows(out, q, k, i, rows, length, width, column, dHead) {
    product([out, 0, length], [q, i * width + column, width], [k, column, width], rows, length, dHead);
    for (let n = 0; n < rows * length; n++) out[n] *= dHead ** -0.5;
    for (let row = 0; row < rows; row++) softmaxRow(out, row * length, length);
  }

  function attention(result, header, block, head) {
    const length = result.ids.length;
    const width = header.config.d_model;
    const dHead = width / header.config.n_heads;
    const out = new Float32Array(length * length);
    const part = new Float64Array(ROWS * length);
    for (let i = 0; i < length; i += ROWS) {
      const rows = Math.min(ROWS, length - i);
      patternRows(part, result.q[block], result.k[block], i, rows, length, width, head * dHead, dHead);
      out.set(part.subarray(0, rows * length), i * length);
    }
    return out;
  }

  // Add to `out` the sum of `count` vectors of x, (count, stride) from `start`, weighted by a row of a pattern.
  function mix(out, outStart, pattern, row, x, start, stride, width, count) {
    for (let i = 0; i < count; i++) {
      const share = pattern[row + i];
      for (let n = 0; n < width; n++) out[outStart + n] += share * x[start + i * stride + n];
    }
  }

  function gathered(table, ids, width) {
    const out = new Float64Array(ids.length * width);
    ids.forEach((id, pos) => out.set(table.subarray(id * width, (id + 1) * width), pos * width));
    return out;
  }

  // Mean vector of each symbol, (symbol, d_model), zero for absent ones, and how often it occurs.
  function pooled(x, ids, size, width) {
    const means = new Float64Array(size * width);
    const counts = new Float64Array(size);
    ids.forEach((id, pos) => {
      counts[id]++;
      for (let n = 0; n < width; n++) means[id * width + n] += x[pos * width + n];
    });
    for (let id = 0; id < size; id++) {
      for (let n = 0; n < width; n++) means[id * width + n] /= Math.max(1, counts[id]);
    }
    return { means, counts };
  }

  // New id of every id, for models that rename the letters of a text before they read it; see alice/text/relabel.py.
  function renamed(ids, letterIds, size, how) {
    const names = Array.from({ length: size }, (_, id) => id);
    if (how === "none") return names;
    const text = Array.from(ids);
    const order = letterIds.map((id, letter) => {
      const first = text.includes(id) ? text.indexOf(id) : text.length;
      const count = text.filter((one) => one === id).length;
      return { letter, first, rarity: how === "frequency" ? -count : 0 };
    });
    order.sort((a, b) => a.rarity - b.rarity || a.first - b.first || a.letter - b.letter);
    order.forEach(({ letter }, place) => { names[letterIds[letter]] = letterIds[place]; });
    return names;
  }

  function identical(one, other) {
    return one.length === other.length && one.every((id, index) => id === other[index]);
  }

  return { load: (header, bytes) => new Model(header, bytes), attention };
})();
