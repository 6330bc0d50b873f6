// Arithmetic on typed arrays for engine.js: products, norms, rotations, and the best one-to-one assignment.
//
// Tables are row-major Float64Arrays; shapes stand beside them as in Python, such as (rows, columns).
"use strict";

var AliceNumbers = (() => {
  // Every half-precision number by its 16 bits.
  const HALVES = Float64Array.from({ length: 65536 }, (_, bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return bits & 0x8000 ? -size : size;
  });

  function fromHalf(bytes, offset, count) {
    const bits = new Uint16Array(bytes, 2 * offset, count); // little-endian, like every machine with a browser
    const numbers = new Float64Array(count);
    for (let i = 0; i < count; i++) numbers[i] = HALVES[bits[i]];
    return numbers;
  }

  // out[i, j] = sum over n of a[i, n] * b[j, n], for `rows` rows of a and `columns` rows of b; each is [array, offset, stride].
  // Four rows by two columns at a time: every number is read once for several products.
  function product([out, outStart, outStride], [a, aStart, aStride], [b, bStart, bStride], rows, columns, inner) {
    for (let j = 0; j < columns; j += 2) {
      const two = j + 1 < columns;
      const b0 = bStart + j * bStride;
      const b1 = two ? b0 + bStride : b0;
      let i = 0;
      for (; i + 4 <= rows; i += 4) {
        const a0 = aStart + i * aStride;
        const a1 = a0 + aStride;
        const a2 = a1 + aStride;
        const a3 = a2 + aStride;
        let s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
        for (let n = 0; n < inner; n++) {
          const x = b[b0 + n];
          const y = b[b1 + n];
          const p = a[a0 + n];
          const q = a[a1 + n];
          const r = a[a2 + n];
          const s = a[a3 + n];
          s00 += p * x;
          s01 += p * y;
          s10 += q * x;
          s11 += q * y;
          s20 += r * x;
          s21 += r * y;
          s30 += s * x;
          s31 += s * y;
        }
        const o = outStart + i * outStride + j;
        out[o] = s00;
        out[o + outStride] = s10;
        out[o + 2 * outStride] = s20;
        out[o + 3 * outStride] = s30;
        if (two) {
          out[o + 1] = s01;
          out[o + outStride + 1] = s11;
          out[o + 2 * outStride + 1] = s21;
          out[o + 3 * outStride + 1] = s31;
        }
      }
      for (; i < rows; i++) {
        const a0 = aStart + i * aStride;
        let s0 = 0, s1 = 0;
        for (let n = 0; n < inner; n++) {
          s0 += a[a0 + n] * b[b0 + n];
          s1 += a[a0 + n] * b[b1 + n];
        }
        const o = outStart + i * outStride + j;
        out[o] = s0;
        if (two) out[o + 1] = s1;
      }
    }
  }

  function softmaxRow(x, start, count) {
    let top = -Infinity;
    for (let i = start; i < start + count; i++) if (x[i] > top) top = x[i];
    let sum = 0;
    for (let i = start; i < start + count; i++) sum += x[i] = Math.exp(x[i] - top);
    for (let i = start; i < start + count; i++) x[i] /= sum;
  }

  function rmsNorm(x, rows, w, eps) {
    const width = w.length;
    const out = new Float64Array(rows * width);
    for (let row = 0; row < rows; row++) {
      const start = row * width;
      let sum = 0;
      for (let n = 0; n < width; n++) sum += x[start + n] * x[start + n];
      const scale = 1 / Math.sqrt(sum / width + eps);
      for (let n = 0; n < width; n++) out[start + n] = x[start + n] * scale * w[n];
    }
    return out;
  }

  function addTo(x, y) {
    for (let i = 0; i < x.length; i++) x[i] += y[i];
  }

  // Cosine and sine of the angle of every position and pair of dimensions, (pos, d_head / 2, 2), in single precision as in
  // Python; truncated to whole numbers if asked, a bug of the authors' code.
  function rotaryTable(dHead, length, theta, truncated) {
    const table = new Float32Array(length * dHead);
    for (let pos = 0; pos < length; pos++) {
      for (let n = 0; n < dHead; n += 2) {
        const angle = pos * theta ** (-n / dHead);
        table[pos * dHead + n] = Math.cos(angle);
        table[pos * dHead + n + 1] = Math.sin(angle);
      }
    }
    return truncated ? table.map(Math.trunc) : table;
  }

  // Rotate adjacent pairs of columns start to start + width of x, (pos, stride), into a new (pos, width).
  function rotated(x, length, stride, start, width, dHead, table) {
    const out = new Float64Array(length * width);
    for (let pos = 0; pos < length; pos++) {
      for (let n = 0; n < width; n += 2) {
        const turn = pos * dHead + (n % dHead);
        const cos = table[turn];
        const sin = table[turn + 1];
        const real = x[pos * stride + start + n];
        const imag = x[pos * stride + start + n + 1];
        out[pos * width + n] = real * cos - imag * sin;
        out[pos * width + n + 1] = real * sin + imag * cos;
      }
    }
    return out;
  }

  // Best assignment of columns to rows, (n, n) -> [column of each row], by shortest augmenting paths (Kuhn, Munkres).
  function assign(scores, n) {
    const rowPrice = new Float64Array(n + 1);
    const columnPrice = new Float64Array(n + 1);
    const rowOf = new Int32Array(n + 1); // 1-based row assigned to each column; column 0 is where a path starts
    const before = new Int32Array(n + 1);
    for (let row = 1; row <= n; row++) {
      rowOf[0] = row;
      const slack = new Float64Array(n + 1).fill(Infinity);
      const seen = new Uint8Array(n + 1);
      let column = 0;
      while (rowOf[column] !== 0) {
        seen[column] = 1;
        const here = rowOf[column];
        let step = Infinity;
        let next = 0;
        for (let j = 1; j <= n; j++) {
          if (seen[j]) continue;
          const cost = -scores[(here - 1) * n + j - 1] - rowPrice[here] - columnPrice[j];
          if (cost < slack[j]) {
            slack[j] = cost;
            before[j] = column;
          }
          if (slack[j] < step) {
            step = slack[j];
            next = j;
          }
        }
        for (let j = 0; j <= n; j++) {
          if (seen[j]) {
            rowPrice[rowOf[j]] += step;
            columnPrice[j] -= step;
          } else {
            slack[j] -= step;
          }
        }
        column = next;
      }
      while (column !== 0) {
        rowOf[column] = rowOf[before[column]];
        column = before[column];
      }
    }
    const columns = new Int32Array(n);
    for (let j = 1; j <= n; j++) columns[rowOf[j] - 1] = j - 1;
    return columns;
  }

  function logSumExp(x, start, stride, count) {
    let top = -Infinity;
    for (let i = 0; i < count; i++) top = Math.max(top, x[start + i * stride]);
    if (top === -Infinity) return top;
    let sum = 0;
    for (let i = 0; i < count; i++) sum += Math.exp(x[start + i * stride] - top);
    return top + Math.log(sum);
  }

  // Normalise rows and columns in turn, in log space, (n, n), in place.
  function logSinkhorn(x, n, iterations) {
    for (let step = 0; step < iterations; step++) {
      for (let i = 0; i < n; i++) {
        const sum = logSumExp(x, i * n, 1, n);
        for (let j = 0; j < n; j++) x[i * n + j] -= sum;
      }
      for (let j = 0; j < n; j++) {
        const sum = logSumExp(x, j, n, n);
        for (let i = 0; i < n; i++) x[i * n + j] -= sum;
      }
    }
  }

  // Sum of the largest number of each row of a pattern, (rows, pos).
  function sumOfMost(pattern, rows, length) {
    let sum = 0;
    for (let row = 0; row < rows; row++) {
      let most = 0;
      for (let n = row * length; n < (row + 1) * length; n++) if (pattern[n] > most) most = pattern[n];
      sum += most;
    }
    return sum;
  }

  return { fromHalf, product, softmaxRow, sumOfMost, rmsNorm, addTo, rotaryTable, rotated, assign, logSinkhorn };
})();
