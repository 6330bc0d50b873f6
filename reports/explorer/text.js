// Texts as people write them and as the model reads them; keys; and how two answers differ.
"use strict";

var ExplorerText = (() => {
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const UNICITY = 28; // letters below which English under a substitution cipher has more than one solution (Shannon 1949)
  const PLAIN_MARKS = {
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u2032": "'", "`": "'", "\u00b4": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2015": "-", "\u2212": "-", "\u2026": ".",
  };
  const isLetter = (character) => /^[A-Za-z]$/.test(character);

  // Return the symbol of the model's alphabet for a character, or "" if it has none.
  function symbolOf(character, symbols) {
    const symbol = isLetter(character) ? character.toUpperCase() : /\s/.test(character) ? " " : PLAIN_MARKS[character] ?? character;
    return symbols.includes(symbol) ? symbol : "";
  }

  // Return {characters, ids, places, outside}: the text, the model's ids, where they stand, and what it cannot read.
  function read(text, symbols) {
    const characters = [...text];
    const ids = [];
    const places = [];
    const outside = [];
    characters.forEach((character, place) => {
      const symbol = symbolOf(character, symbols);
      if (symbol) {
        ids.push(symbols.indexOf(symbol) + 1);
        places.push(place);
      } else {
        outside.push(place);
      }
    });
    return { text, characters, ids, places, outside, letters: characters.filter(isLetter).length };
  }

  // Return why a text cannot be solved by a model that reads at most `longest` characters; "" if it can.
  function fault(reading, longest) {
    const number = (count) => count.toLocaleString("en");
    if (!reading.text.trim()) return "There is no text yet: type one, or choose an example.";
    if (!reading.letters) return "There is no letter to solve; a cryptogram is in the letters A to Z.";
    if (reading.ids.length <= longest) return "";
    return `The text has ${number(reading.ids.length)} characters, and the network reads at most ${number(longest)}; shorten it.`;
  }

  // A character that a reader would not see, or that would turn what follows it, is named by its number.
  function visible(character) {
    const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return /[\p{C}\p{M}]/u.test(character) ? `U+${number}` : character;
  }

  // Return what a reader should know about a text that can be solved by a model that reads at most `longest` characters.
  function remarks(reading, longest) {
    const notes = [];
    const strange = [...new Set(reading.outside.map((place) => reading.characters[place]))];
    if (strange.length) {
      const more = strange.length > 8 ? " \u2026" : "";
      const which = strange.length === 1 ? "this character, which stays" : "these characters, which stay";
      notes.push(`The network does not know ${which} as written: ${strange.slice(0, 8).map(visible).join(" ")}${more}`);
    }
    if (reading.letters && reading.letters < UNICITY) {
      const letters = reading.letters === 1 ? "1 letter" : `${reading.letters} letters`;
      notes.push(`With ${letters} there is more than one solution; from about ${UNICITY} letters on there is usually one.`);
    }
    if (reading.ids.length > longest / 2) {
      notes.push("This is a long text. Networks often fail on texts that are much longer than those they learned from.");
    }
    return notes.reverse().join(" "); // the list of characters ends the line
  }

  function likeCase(letter, model) {
    return /[a-z]/.test(model) ? letter.toLowerCase() : letter;
  }

  // Replace each letter by that of the key, a string with the cipher letters of A to Z; everything else stays.
  function encrypt(text, key) {
    return text.replace(/[A-Za-z]/g, (letter) => likeCase(key[LETTERS.indexOf(letter.toUpperCase())], letter));
  }

  // A small generator, so that an example has the same key on every machine.
  function seeded(seed) {
    let value = seed >>> 0;
    return () => {
      value = (value + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(value ^ (value >>> 15), value | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  function randomKey(random = Math.random) {
    const letters = [...LETTERS];
    for (let place = letters.length - 1; place > 0; place -= 1) {
      const other = Math.floor(random() * (place + 1));
      [letters[place], letters[other]] = [letters[other], letters[place]];
    }
    return letters.join("");
  }

  // Return the text with its two most frequent letters exchanged: the counterfactual that patching compares with.
  function swapTwo(text) {
    const counts = new Map();
    for (const character of text) {
      if (isLetter(character)) counts.set(character.toUpperCase(), (counts.get(character.toUpperCase()) ?? 0) + 1);
    }
    const [first, second] = [...counts].sort((a, b) => b[1] - a[1]).map(([letter]) => letter);
    if (!second) return text;
    const other = { [first]: second, [second]: first };
    return text.replace(/[A-Za-z]/g, (letter) => likeCase(other[letter.toUpperCase()] ?? letter, letter));
  }

  // Return whether two texts, as ids, are the same but for the names of their symbols.
  function isRelabelled(one, other) {
    const pairs = new Set(one.map((id, place) => `${id} ${other[place]}`)).size;
    return one.length === other.length && pairs === new Set(one).size && pairs === new Set(other).size;
  }

  // The symbol of an id as it is shown where a letter stands: a space and padding would not be seen.
  function shownSymbol(id, symbols) {
    const symbol = id ? symbols[id - 1] : "\u00b7";
    return symbol === " " ? "\u2423" : symbol;
  }

  // Return the characters of an answer, its ids in the order of `places`; marks that stay are as they were written.
  function writeBack(reading, answer, symbols) {
    const characters = [...reading.characters];
    reading.places.forEach((place, number) => {
      if (!isLetter(characters[place]) && answer[number] === reading.ids[number]) return;
      characters[place] = likeCase(shownSymbol(answer[number], symbols), characters[place]);
    });
    return characters;
  }

  // Return the number of positions at which two arrays of ids differ.
  const differences = (one, other) => one.reduce((count, id, place) => count + (id !== other[place] ? 1 : 0), 0);

  // Return the share of positions, 0 to 1, at which an answer differs from the solution.
  const errorShare = (solution, answer) => differences(solution, answer) / solution.length;

  // Return the plain letter that each cipher letter of the text is read as, {Q: "E"}, in the order of the alphabet.
  function keyOf(reading, answer, symbols) {
    const found = {};
    reading.ids.forEach((id, number) => {
      const cipher = symbols[id - 1];
      if (LETTERS.includes(cipher)) found[cipher] = shownSymbol(answer[number], symbols);
    });
    return Object.fromEntries(Object.entries(found).sort());
  }

  // Return how probable the model finds its own answer for each cipher letter of the text, {Q: 0.9}, at one layer.
  function certainty(result, layer, config) {
    const size = config.symbols.length + 1;
    const found = {};
    for (const id of new Set(result.ids)) {
      const row = result.scores[layer].subarray(id * size, (id + 1) * size);
      const best = row[result.letters[layer][id]];
      const log = config.variant === "bijective" ? best : -Math.log(row.reduce((sum, score) => sum + Math.exp(score - best), 0));
      if (LETTERS.includes(config.symbols[id - 1])) found[config.symbols[id - 1]] = Math.exp(log);
    }
    return found;
  }

  // Return [[cipher, before, after], ...] for the letters that are read differently.
  const keyChanges = (before, after) =>
    Object.keys(before).filter((cipher) => before[cipher] !== after[cipher]).map((cipher) => [cipher, before[cipher], after[cipher]]);

  return { LETTERS, isLetter, read, fault, remarks, encrypt, seeded, randomKey, swapTwo, isRelabelled, writeBack, differences, errorShare, keyOf, certainty, keyChanges };
})();
