// The input: a rung with its options, or pasted PTX with its arguments.
"use strict";

const setup = (() => {
  let catalog = [];
  let kernels = [];
  let mode = "rung";
  let changed;

  const SAMPLE = `.version 8.0
.target sm_80
.address_size 64

// Each thread adds its index to an element. Odd threads double the element first.
.visible .entry add_thread(.param .u64 data, .param .u32 count)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;

    mov.u32         %r1, %ctaid.x;
    mov.u32         %r2, %ntid.x;
    mov.u32         %r3, %tid.x;
    mad.lo.u32      %r4, %r1, %r2, %r3;
    ld.param.u32    %r5, [count];
    setp.ge.u32     %p1, %r4, %r5;
    @%p1 bra        done;
    ld.param.u64    %rd1, [data];
    mul.wide.u32    %rd2, %r4, 4;
    add.u64         %rd3, %rd1, %rd2;
    ld.global.u32   %r6, [%rd3];
    and.b32         %r7, %r3, 1;
    setp.eq.u32     %p2, %r7, 0;
    @%p2 bra        even;
    shl.b32         %r6, %r6, 1;
even:
    add.u32         %r6, %r6, %r3;
    st.global.u32   [%rd3], %r6;
done:
    ret;
}
`;

  const ladderOf = (rung) => catalog.find((ladder) => ladder.rungs.some(({ name }) => name === rung));
  const rungOf = (name) => ladderOf(name)?.rungs.find((rung) => rung.name === name);

  // `onChange` is called when the input changes without a field event.
  function start(ladders, onChange) {
    catalog = ladders;
    changed = onChange;
    byId("rung").replaceChildren(...catalog.map((ladder) => element("optgroup", { label: `${ladder.name}: ${ladder.summary}` },
      ...ladder.rungs.map((rung) => element("option", { value: rung.name }, rung.name)))));
    byId("rung").addEventListener("change", () => chooseRung(byId("rung").value));
    byId("choose-rung").addEventListener("click", () => choose("rung"));
    byId("choose-ptx").addEventListener("click", () => choose("ptx"));
    byId("ptx").value = SAMPLE;
    byId("ptx").addEventListener("input", () => {
      drawGutter();
      clearTimeout(start.timer);
      start.timer = setTimeout(readKernels, 250);
    });
    byId("ptx").addEventListener("scroll", () => { byId("gutter").scrollTop = byId("ptx").scrollTop; }, { passive: true });
    byId("kernel").addEventListener("change", drawArguments);
    drawGutter();
  }

  function choose(newMode) {
    mode = newMode;
    changed();
    byId("choose-rung").setAttribute("aria-pressed", mode === "rung");
    byId("choose-ptx").setAttribute("aria-pressed", mode === "ptx");
    byId("rung-form").hidden = mode !== "rung";
    byId("ptx-form").hidden = mode !== "ptx";
    byId("editor").hidden = mode !== "ptx";
    byId("lesson").hidden = mode !== "rung";
    if (mode === "ptx") readKernels();
  }

  function chooseRung(name, given = {}) {
    const ladder = ladderOf(name);
    if (!ladder) return;
    const before = byId("options").dataset.ladder === ladder.name ? options() : {};
    const rung = rungOf(name);
    byId("rung").value = name;
    byId("lesson").textContent = rung.lesson;
    byId("options").dataset.ladder = ladder.name;
    byId("options").replaceChildren(...ladder.options.map((option) => {
      const value = given[option.name] ?? before[option.name] ?? option.first;
      const input = option.words.length
        ? element("select", { "data-option": option.name }, ...option.words.map((word) => element("option", { value: word }, word)))
        : element("input", { "data-option": option.name, size: Math.max(5, option.first.length + 1) });
      input.value = value;
      return element("label", { title: option.help }, `${option.name} `, input);
    }));
    const block = byId("block");
    const chosen = given.block ?? "";
    const all = chosen && !rung.blocks.includes(chosen) ? [...rung.blocks, chosen] : rung.blocks;
    block.replaceChildren(element("option", { value: "" }, `${rung.blocks[0]} (default)`), ...all.slice(1).map((size) => element("option", { value: size }, size)));
    block.value = rung.blocks[0] === chosen ? "" : chosen;
    byId("record").value = given.record ?? "0";
  }

  function options() {
    const inputs = [...byId("options").querySelectorAll("[data-option]")];
    return Object.fromEntries(inputs.map((input) => [input.dataset.option, input.value.trim()]));
  }

  function whole(id, what) {
    const text = byId(id).value.trim();
    if (!/^\d+$/.test(text) || Number(text) > 2 ** 32 - 1) throw new simulator.Problem({ text: `${what}: \`${text}\` is not a number from 0 to 4294967295` });
    return Number(text);
  }

  function sides(id, what) {
    const parts = byId(id).value.trim().split(/[x×,\s]+/);
    if (parts.length > 3 || !parts.every((part) => /^\d+$/.test(part) && Number(part) < 2 ** 32)) {
      throw new simulator.Problem({ text: `${what}: \`${byId(id).value}\` is not one to three numbers separated by x, as in 16x16` });
    }
    return [...parts.map(Number), 1, 1].slice(0, 3);
  }

  function request() {
    if (mode === "rung") {
      return { ask: "rung", rung: byId("rung").value, options: options(), block: byId("block").value, record: whole("record", "the block to record") };
    }
    const rows = [...byId("arguments").querySelectorAll(".argument")];
    return {
      ask: "pasted",
      ptx: byId("ptx").value,
      kernel: byId("kernel").value,
      grid: sides("grid", "the grid"),
      block: sides("ptx-block", "the block"),
      shared: whole("ptx-shared", "the bytes of shared memory"),
      record: whole("ptx-record", "the block to record"),
      arguments: rows.map((row) => {
        const [is, type, count, value] = ["is", "type", "count", "value"].map((name) => row.querySelector(`[name=${name}]`));
        const isBuffer = is.value === "buffer";
        if (isBuffer && !/^\d+$/.test(count.value.trim())) throw new simulator.Problem({ text: `${row.dataset.name}: \`${count.value}\` is not a number of elements` });
        return { type: type.value, buffer: isBuffer ? Number(count.value) : null, value: value.value };
      }),
    };
  }

  // Reads the kernels of the text, or shows the error and its line.
  function readKernels() {
    showError(null);
    try {
      kernels = simulator.ask({ ask: "kernels", ptx: byId("ptx").value });
    } catch (problem) {
      kernels = [];
      showError(problem);
    }
    const before = byId("kernel").value;
    byId("kernel").replaceChildren(...kernels.map((kernel) => element("option", { value: kernel.entry }, kernel.name)));
    if (kernels.some((kernel) => kernel.entry === before)) byId("kernel").value = before;
    if (kernels.length) drawArguments();
  }

  function showError(problem) {
    byId("editor-problem").textContent = problem ? (problem.line ? `Line ${problem.line}, column ${problem.column}: ${problem.message}` : problem.message) : "";
    byId("ptx").setAttribute("aria-invalid", Boolean(problem));
    drawGutter(problem?.line);
    if (problem?.line) {
      const height = byId("gutter").scrollHeight / Math.max(1, byId("gutter").children.length);
      const top = (problem.line - 1) * height;
      const area = byId("ptx");
      if (top < area.scrollTop || top > area.scrollTop + area.clientHeight - height) area.scrollTop = top - area.clientHeight / 3;
    }
  }

  function drawGutter(wrong = 0) {
    const count = byId("ptx").value.split("\n").length;
    const lines = [];
    for (let line = 1; line <= count; line++) lines.push(element("span", { class: line === wrong ? "wrong" : "" }, String(line)));
    byId("gutter").replaceChildren(...lines);
    byId("gutter").scrollTop = byId("ptx").scrollTop;
  }

  // Draws a row for each parameter.
  function drawArguments(given) {
    const kernel = kernels.find(({ entry }) => entry === byId("kernel").value) ?? kernels[0];
    if (!kernel) return;
    if (kernel.problem) {
      // The parameters are unknown, so the arguments stay unchanged.
      showError(Object.assign(new Error(kernel.problem.text), kernel.problem));
      return;
    }
    if (kernel.required_block) byId("ptx-block").value = kernel.required_block.join("x");
    const launched = Array.isArray(given) ? given : [];
    const before = new Map([...byId("arguments").querySelectorAll(".argument")].map((row) => [row.dataset.name, row]));
    byId("arguments").replaceChildren(...kernel.parameters.map((parameter, index) => {
      const known = before.get(parameter.name);
      return known && !launched[index] ? known : argumentRow(parameter, index, launched[index]);
    }));
    if (kernel.parameters.length === 0) byId("arguments").replaceChildren(element("p", { class: "hint" }, "The kernel has no parameters."));
  }

  function argumentRow(parameter, index, given) {
    const isPointer = given ? given.buffer !== undefined && given.buffer !== null : parameter.buffer !== null;
    const type = given?.type ?? (isPointer ? parameter.buffer : parameter.type.replace(/^b(8|16|32|64)$/, "u$1"));
    const select = (name, all, value, label) => {
      const one = element("select", { name, "aria-label": label }, ...all.map((word) => element("option", { value: word }, word)));
      one.value = value;
      return one;
    };
    const label = (what) => `argument ${index}: ${what}`;
    const is = select("is", parameter.bytes === 8 ? ["buffer", "number"] : ["number"], isPointer ? "buffer" : "number", label("a buffer or a number"));
    const kinds = isPointer ? ["u32", "s32", "f32", "u64", "s64", "f64", "u8", "s8", "u16", "s16", "b32", "b64"] : [type];
    const types = select("type", kinds.includes(type) ? kinds : [...kinds, type], type, label("type"));
    const count = element("input", { name: "count", size: 6, value: given?.buffer ?? "128", "aria-label": label("elements"), title: "elements" });
    const value = element("input", { name: "value", size: 12, value: given?.value ?? (isPointer ? "index" : "128"), "aria-label": label("value"), list: "fills" });
    count.hidden = !isPointer;
    is.addEventListener("change", () => {
      row.replaceWith(argumentRow(parameter, index, is.value === "buffer" ? { buffer: 128, type: parameter.buffer ?? "u32", value: "index" } : { type: parameter.type.replace(/^b/, "u"), value: "0" }));
    });
    const name = parameter.name.length > 22 ? `…${parameter.name.slice(-20)}` : parameter.name;
    const row = element("div", { class: "argument", "data-name": parameter.name }, element("code", { title: `.${parameter.type} ${parameter.name}` }, name), is, types, count, value);
    return row;
  }

  // Copies a launch into the editor.
  function take({ ptx, kernel, grid, block, shared, recorded, arguments: given }) {
    byId("ptx").value = ptx;
    byId("grid").value = grid.join("x").replace(/(x1)+$/, "");
    byId("ptx-block").value = block.join("x").replace(/(x1)+$/, "");
    byId("ptx-shared").value = shared;
    byId("ptx-record").value = recorded ?? 0;
    byId("arguments").replaceChildren();
    choose("ptx");
    if (kernel) byId("kernel").value = kernel;
    drawArguments(given);
  }

  // Returns the argument that a SPEC of `simt run` describes. The form shows other texts unchanged, and a run rejects them.
  function argumentOf(spec) {
    const [, letter, bits, count, fill, number] = /^([iuf])(\d+)(?:\[(\d+)\](?:=(.*))?|:(.*))$/.exec(spec) ?? [];
    if (letter === undefined) return { type: "u8", buffer: null, value: spec };
    const type = (letter === "i" ? "s" : letter) + bits;
    if (count === undefined) return { type, buffer: null, value: number };
    const value = { iota: "index", uninit: "unset" }[fill] ?? fill?.replace(/^rand:.*/, "random") ?? "zeros";
    return { type, buffer: Number(count), value };
  }

  function setPtx(text) {
    byId("ptx").value = text;
    choose("ptx");
  }

  return { start, choose, chooseRung, rungOf, request, showError, take, argumentOf, setPtx, mode: () => mode, readKernels };
})();
