// The simulator, a WebAssembly module that answers requests in JSON: `simulator.ask({ask: "view", step: 0, warp: 0})`.
"use strict";

const simulator = (() => {
  let module = null;
  let exports = null;
  let ready = null;

  class Problem extends Error {
    constructor({ text, line = null, column = null }) {
      super(text);
      this.line = line;
      this.column = column;
    }
  }

  // Loads the module's bytes from a script, because a page that is opened from disk may not fetch files.
  function fromScript() {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "playground.wasm.js";
      script.onload = () => {
        const text = globalThis.PLAYGROUND_WASM;
        globalThis.PLAYGROUND_WASM = null;
        resolve(Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
      };
      script.onerror = () => reject(new Problem({ text: "the file playground.wasm.js is missing: `cargo xtask playground` writes it next to this page" }));
      document.head.append(script);
    });
  }

  async function compile() {
    if (typeof WebAssembly !== "object") throw new Problem({ text: "this browser does not support WebAssembly, which the playground needs" });
    if (location.protocol !== "file:") {
      try {
        const answer = await fetch("playground.wasm");
        if (answer.ok) return await WebAssembly.compile(await answer.arrayBuffer());
      } catch { /* The script contains the same bytes. */ }
    }
    return WebAssembly.compile(await fromScript());
  }

  async function load() {
    module = await compile();
    exports = (await WebAssembly.instantiate(module, {})).exports;
  }

  function text(bytes) {
    return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answer_at(), bytes));
  }

  // Calls the module. If a call fails, replaces the module with a new instance and throws the reason.
  function call(work) {
    try {
      return work();
    } catch (error) {
      if (error instanceof Problem) throw error;
      let why = "";
      try {
        why = text(exports.panicked());
      } catch { /* The failed instance is unusable. */ }
      const megabytes = Math.round(exports.memory.buffer.byteLength / 2 ** 20);
      exports = new WebAssembly.Instance(module, {}).exports;
      throw new Problem({
        text: why
          ? `the simulator failed because of a bug: ${why}`
          : `the browser limits the simulator to ${megabytes} MB of memory: try a smaller problem or a shorter kernel (${error.message})`,
      });
    }
  }

  const words = (count) => new Uint32Array(exports.memory.buffer, exports.words_at(), count);

  return {
    Problem,
    ready: () => (ready ??= load()),
    ask: (request) => call(() => {
      const bytes = new TextEncoder().encode(JSON.stringify(request));
      // The call may grow the memory, which replaces its buffer.
      const at = exports.request(bytes.length);
      new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
      const answer = JSON.parse(text(exports.answer()));
      if (answer.problem) throw new Problem(answer.problem);
      return answer.ok;
    }),
    // Returns the words of shared memory after a step. They are valid until the next call.
    shared: (step) => call(() => words(exports.shared(step))),
    overview: (columns) => call(() => words(exports.overview(columns)).slice()),
    memoryBytes: () => exports.memory.buffer.byteLength,
  };
})();
