// The simulator: a WebAssembly module that is asked in JSON. `machine.ask({ask: "view", step: 0, warp: 0})`.
"use strict";

const machine = (() => {
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

  // The module's bytes as a script: a page that is opened from a disk may not fetch files.
  function fromScript() {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "playground.wasm.js";
      script.onload = () => {
        const text = globalThis.PLAYGROUND_WASM;
        globalThis.PLAYGROUND_WASM = null;
        resolve(Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
      };
      script.onerror = () => reject(new Problem({ text: "the file playground.wasm.js is missing: `cargo xtask playground` writes it beside this page" }));
      document.head.append(script);
    });
  }

  async function compile() {
    if (typeof WebAssembly !== "object") throw new Problem({ text: "this browser has no WebAssembly, which the playground runs in" });
    if (location.protocol !== "file:") {
      try {
        const answer = await fetch("playground.wasm");
        if (answer.ok) return await WebAssembly.compile(await answer.arrayBuffer());
      } catch { /* The script has the same bytes. */ }
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

  // Calls the module. When it has ended in the middle, a fresh one takes its place, and the problem says why.
  function call(work) {
    try {
      return work();
    } catch (error) {
      if (error instanceof Problem) throw error;
      let why = "";
      try {
        why = text(exports.panicked());
      } catch { /* Nothing of it can be used any more. */ }
      const megabytes = Math.round(exports.memory.buffer.byteLength / 2 ** 20);
      exports = new WebAssembly.Instance(module, {}).exports;
      throw new Problem({
        text: why
          ? `the simulator has failed, which it never should: ${why}`
          : `the browser gave the simulator no more memory than ${megabytes} MB: a smaller problem, or a shorter kernel, fits (${error.message})`,
      });
    }
  }

  const words = (count) => new Uint32Array(exports.memory.buffer, exports.words_at(), count);

  return {
    Problem,
    ready: () => (ready ??= load()),
    ask: (request) => call(() => {
      const bytes = new TextEncoder().encode(JSON.stringify(request));
      // The memory may grow in the call, and is another one then.
      const at = exports.request(bytes.length);
      new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
      const answer = JSON.parse(text(exports.answer()));
      if (answer.problem) throw new Problem(answer.problem);
      return answer.ok;
    }),
    // The words of shared memory after a step; they are valid up to the next call.
    shared: (step) => call(() => words(exports.shared(step))),
    overview: (columns) => call(() => words(exports.overview(columns)).slice()),
    memoryBytes: () => exports.memory.buffer.byteLength,
  };
})();
