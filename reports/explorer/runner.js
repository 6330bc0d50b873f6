// Runs the engine without freezing the page: in a worker made of the engine's own source, or, where a browser refuses one,
// in slices of a few milliseconds on the page itself.
//
// ExplorerRunner.start(document) -> {header, run, where}
//     reads the elements #explorer-header (JSON), #explorer-weights (base64) and the scripts of the page that a worker needs
//     header   the header of AliceEngine.load
//     run(ids, options)   -> promise of a result of engine.js. A new run ends the one before it, whose promise is then
//                            rejected with an Error of the name "AbortError"; any other Error has a message for the reader.
//     where()             -> "worker" or "page", where the last run was computed
// ExplorerRunner.worker(self) turns a worker into one that answers such runs.
"use strict";

var ExplorerRunner = (() => {
  const SOURCES = ["numbers", "interventions", "engine", "runner"].map((name) => `script-${name}`); // what a worker needs
  const SLICE = { page: 12, worker: 100 }; // milliseconds of computing between two looks at what else there is to do

  function bytesOf(base64) {
    const text = atob(base64.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes.buffer;
  }

  function outdated() {
    const error = new Error("A newer run has taken the place of this one.");
    error.name = "AbortError";
    return error;
  }

  const breath = () => new Promise((resolve) => setTimeout(resolve, 0));

  // Run in slices until done or until `isCurrent` says that nobody waits for the result any more.
  async function inSlices(model, ids, options, slice, isCurrent) {
    const steps = model.steps(ids, options);
    await breath();
    for (;;) {
      const end = performance.now() + slice;
      while (performance.now() < end) {
        const { done, value } = steps.next();
        if (done) return value;
      }
      await breath();
      if (!isCurrent()) throw outdated();
    }
  }

  function worker(self) {
    let model = null;
    let newest = 0;
    self.onmessage = async ({ data }) => {
      if (data.header) {
        try {
          model = AliceEngine.load(data.header, data.bytes);
        } catch {
          self.postMessage({ failed: true });
        }
        return;
      }
      newest = data.number;
      const isCurrent = () => data.number === newest;
      try {
        const result = await inSlices(model, data.ids, data.options, SLICE.worker, isCurrent);
        self.postMessage({ number: data.number, result });
      } catch (error) {
        if (isCurrent()) self.postMessage({ number: data.number, message: error.message });
      }
    };
  }

  // A worker that has the weights, or null.
  function started(document, header, bytes, onFailure) {
    try {
      const sources = SOURCES.map((id) => document.getElementById(id).textContent);
      const address = URL.createObjectURL(new Blob([...sources, "\nExplorerRunner.worker(self);"], { type: "text/javascript" }));
      const thread = new Worker(address);
      thread.onerror = onFailure;
      thread.postMessage({ header, bytes });
      return thread;
    } catch {
      return null;
    }
  }

  function start(document) {
    const header = JSON.parse(document.getElementById("explorer-header").textContent);
    const bytes = bytesOf(document.getElementById("explorer-weights").textContent);
    let model = null;
    let newest = 0;
    let waiting = null; // the run that has not ended yet
    const withoutThread = () => {
      thread?.terminate();
      thread = null;
      if (waiting) onPage(waiting);
    };
    let thread = started(document, header, bytes, (event) => {
      event.preventDefault();
      withoutThread();
    });
    if (thread) thread.onmessage = ({ data }) => {
      if (!thread) return;
      if (data.failed) {
        withoutThread();
        return;
      }
      if (!waiting || data.number !== waiting.number) return;
      const { resolve, reject } = waiting;
      waiting = null;
      if (data.result) resolve(data.result);
      else reject(new Error(data.message));
    };

    async function onPage(task) {
      try {
        model ??= AliceEngine.load(header, bytes);
        const result = await inSlices(model, task.ids, task.options, SLICE.page, () => task === waiting);
        if (task !== waiting) return;
        waiting = null;
        task.resolve(result);
      } catch (error) {
        if (task === waiting) waiting = null;
        task.reject(error);
      }
    }

    function run(ids, options = {}) {
      if (waiting) waiting.reject(outdated());
      return new Promise((resolve, reject) => {
        waiting = { number: ++newest, ids, options, resolve, reject };
        if (thread) thread.postMessage({ number: waiting.number, ids, options });
        else onPage(waiting);
      });
    }

    return { header, run, where: () => (thread ? "worker" : "page") };
  }

  return { start, worker };
})();
