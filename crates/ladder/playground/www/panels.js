// The panels that show a state: the instruction, registers, shared memory, warps, counters, findings, data.
"use strict";

class Panels {
  // `choose({warp, lane, step})` is called with the clicked warp, lane or step.
  constructor(choose) {
    this.choose = choose;
    this.registers = new Grid(byId("registers"), { label: "Registers by lane", head: "lane", columns: numbers(32), width: 9, headWidth: 7 });
    this.shared = new Grid(byId("shared"), { label: "Shared memory, a column for each bank", head: "bank", columns: numbers(32), width: 8, headWidth: 6 });
    this.buffer = new Grid(byId("buffer-grid"), { label: "Elements of the buffer", head: "element", columns: numbers(8), width: 13, headWidth: 9 });
    fillSelect("register-format", { auto: "their type", s: "signed", u: "unsigned", x: "hexadecimal", f: "float" });
    fillSelect("shared-format", { auto: "guessed", s: "signed", u: "unsigned", x: "hexadecimal", f: "float" });
    fillSelect("buffer-type", Object.fromEntries(Object.keys(values.TYPES).map((type) => [type, type])));
    for (const id of ["register-format", "shared-format"]) byId(id).addEventListener("change", () => this.redraw());
    for (const id of ["buffer", "buffer-type", "buffer-when"]) byId(id).addEventListener("change", () => this.showBuffer(id === "buffer"));
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.addEventListener("click", () => this.open(tab.id.slice(4)));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.stopPropagation();
        event.preventDefault();
        const all = [...document.querySelectorAll("[role=tab]")];
        const next = all[(all.indexOf(tab) + step + all.length) % all.length];
        this.open(next.id.slice(4));
        next.focus();
      });
    }
    byId("lanes").replaceChildren(...numbers(32).map((lane) => element("button", {
      type: "button", tabindex: "-1", "data-lane": lane, "aria-label": `lane ${lane}`, onclick: () => this.choose({ lane: Number(lane) }),
    }, lane)));
    byId("registers").addEventListener("click", (event) => {
      const column = event.target.closest("[data-column]")?.dataset.column;
      if (column) this.choose({ lane: Number(column) });
    });
    this.open("registers");
  }

  open(name) {
    this.tab = name;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const is = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", is);
      tab.tabIndex = is ? 0 : -1;
      byId(`panel-${tab.id.slice(4)}`).hidden = !is;
    }
    this.redraw();
  }

  // Shows a new run.
  run(run, listing) {
    this.done = run;
    this.listing = listing;
    this.view = null;
    this.place = (bits) => {
      const index = run.buffers.findIndex(({ address, bytes }) => bits >= BigInt(address) && bits < BigInt(address) + BigInt(Math.max(bytes, 1)));
      return index < 0 ? null : `b${index}+${bits - BigInt(run.buffers[index].address)}`;
    };
    this.shared.show(0, () => {});
    byId("shared-words").textContent = run.shared_bytes ? `${run.shared_bytes} bytes, 32 banks of 4 bytes` : "The block has no shared memory.";
    this.drawCounters();
    byId("buffer").replaceChildren(...run.buffers.map((buffer, index) => element("option", { value: index }, `b${index}: ${buffer.name}, ${buffer.bytes} bytes`)));
    this.showBuffer(true);
  }

  redraw() {
    if (this.view) this.show(this.view, this.lane);
    if (this.tab === "data" && this.done) this.showBuffer(false);
  }

  show(view, lane) {
    this.view = view;
    this.lane = lane;
    this.drawInstruction(view, lane);
    if (this.tab === "registers") this.drawRegisters(view, lane);
    if (this.tab === "shared") this.drawShared(view, lane);
    if (this.tab === "warps") this.drawWarps(view);
  }

  drawInstruction(view, lane) {
    const site = view.site;
    byId("operation").textContent = site ? this.listing.text(site) : "The warp has not started.";
    byId("lanes").querySelectorAll("button").forEach((button, index) => {
      const kind = !hasLane(view.threads, index) ? "none"
        : hasLane(view.lanes, index) ? "on"
          : hasLane(view.active, index) ? "held"
            : hasLane(view.exited, index) ? "gone" : "off";
      button.className = index === lane ? `${kind} chosen` : kind;
    });
    const held = view.active & ~view.lanes;
    const words = site ? [`executed by ${laneWords(view.lanes)}`] : [];
    if (held) words.push(`disabled by the guard: ${laneWords(held)}`);
    const others = view.threads & ~view.active & ~view.exited;
    if (site && others) words.push(`on another path: ${laneWords(others)}`);
    if (view.exited) words.push(`ended: ${laneWords(view.exited)}`);
    byId("mask-words").textContent = words.join("; ");
    this.drawOperands(view, lane);
    this.drawStack(view);
    byId("requests").replaceChildren(...view.requests.map((request) => figures.request(request, lane, (space, address) => this.placeOf(space, address))));
  }

  placeOf(space, address) {
    return (space === "global" && this.place(BigInt(address))) || (space === "shared" ? `byte ${address}` : `0x${address.toString(16)}`);
  }

  drawOperands(view, lane) {
    if (!view.site) return byId("operands").replaceChildren();
    const registers = this.registersOf(view);
    const chip = (index, kind) => element("span", { class: `operand ${kind}` },
      element("code", {}, registers[index].name), ` ${this.valueText(registers[index], view.registers[index], lane) || "–"}`);
    const reads = view.reads.map((index) => chip(index, "read"));
    const writes = view.writes.map((index) => chip(index, "written"));
    byId("operands").replaceChildren(...(reads.length + writes.length ? [element("span", { class: "label" }, `lane ${lane}:`)] : []), ...writes, ...reads);
  }

  drawStack(view) {
    if (view.stack.length < 2) return byId("stack").replaceChildren();
    const line = ([number, pc]) => this.listing.instruction([number, pc]).ptx;
    const rows = view.stack.map((entry, index) => {
      const at = element("button", { type: "button", class: "link", onclick: () => this.listing.point(line(entry.site)) }, `line ${line(entry.site)}`);
      const until = entry.until === null ? "the end" : `line ${line([entry.site[0], entry.until])}`;
      const waits = index === view.stack.length - 1 ? "executed now" : entry.waits ? `waits ${entry.waits}` : "";
      return element("tr", { class: index === view.stack.length - 1 ? "top" : "" },
        element("td", {}, figures.strip(entry.lanes, view.threads, view.exited)), element("td", {}, at), element("td", {}, until), element("td", {}, waits));
    });
    byId("stack").replaceChildren(element("table", { class: "stack" },
      element("caption", {}, "Reconvergence stack, from the top"),
      element("thead", {}, element("tr", {}, ...["lanes", "at", "until", ""].map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows.reverse())));
  }

  registersOf(view) {
    return this.done.listing.functions[view.site?.[0] ?? 0].registers;
  }

  // Formats a lane's value of a register.
  valueText(register, value, lane) {
    const laneValue = Array.isArray(value) ? value[lane] : value;
    if (laneValue === null || laneValue === undefined) return "";
    if (register.bits === 1) return laneValue ? "true" : "false";
    const chosen = byId("register-format").value;
    const format = chosen === "auto" ? { f: "f", s: "s", u: "u" }[register.kind] ?? "auto" : chosen;
    return register.bits === 64 ? values.wide(laneValue, format === "u" || format === "s" ? "auto" : format, this.place) : values.word(laneValue, format);
  }

  drawRegisters(view, lane) {
    const registers = this.registersOf(view);
    const rows = view.registers.map((value, index) => [value, index]).filter(([value]) => value !== null).map(([, index]) => index);
    const reads = new Set(view.reads);
    const writes = new Set(view.writes);
    this.registers.choose(lane);
    if (this.followedLane !== lane) this.registers.revealColumn(lane);
    this.followedLane = lane;
    this.registers.show(rows.length, (row) => {
      const index = rows[row];
      const register = registers[index];
      const value = view.registers[index];
      const kind = writes.has(index) ? (reads.has(index) ? "written read" : "written") : reads.has(index) ? "read" : "";
      let before = null;
      return {
        head: register.name,
        kind,
        cells: (at) => {
          const text = this.valueText(register, value, at);
          const same = at > 0 && text === before;
          before = text;
          const fresh = writes.has(index) && hasLane(view.lanes, at) ? " fresh" : "";
          return [register.bits === 1 ? (text === "" ? "" : text === "true" ? "1" : "0") : text, (same ? "same" : "") + (text === "" ? " unset" : "") + fresh];
        },
      };
    });
    const first = rows.findIndex((index) => writes.has(index));
    if (first >= 0 && this.followed !== view.last_step) this.registers.reveal(first);
    this.followed = view.last_step;
  }

  drawShared(view, lane) {
    const all = this.done.shared_bytes ? simulator.shared(view.step).slice() : new Uint32Array();
    const chosen = byId("shared-format").value;
    const format = chosen === "auto" && values.looksLikeFloats(all.subarray(0, 4096)) ? "f" : chosen;
    const touched = new Map();
    for (const request of view.requests) {
      if (request.space !== "shared") continue;
      for (let at = 0; at < 32; at++) {
        if (!hasLane(request.mask, at)) continue;
        for (let word = request.addresses[at] >> 2; word < (request.addresses[at] + request.bytes) / 4; word++) {
          touched.set(word, `${request.kind === "load" ? "read" : "written"}${at === lane ? " of-lane" : ""}`);
        }
      }
    }
    this.shared.show(Math.ceil(all.length / 32), (row) => ({
      head: String(row * 128),
      cells: (bank) => {
        const word = row * 32 + bank;
        return word < all.length ? [values.word(all[word], format), touched.get(word) ?? (all[word] === 0 ? "zero" : "")] : ["", "none"];
      },
    }));
    if (touched.size && this.followedShared !== view.last_step) this.shared.reveal(Math.floor(Math.min(...touched.keys()) / 32));
    this.followedShared = view.last_step;
  }

  drawWarps(view) {
    const rows = view.warps.map((state, warp) => element("tr", { class: warp === view.warp ? "chosen" : "" },
      element("th", { scope: "row" }, element("button", { type: "button", class: "link", onclick: () => this.choose({ warp }) }, `warp ${warp}`)),
      element("td", {}, figures.strip(state.active & ~state.exited, 0xffffffff, state.exited)),
      element("td", {}, warp === view.current_warp ? "has just run" : state.activity),
      element("td", {}, state.site ? element("code", {}, this.listing.text(state.site)) : "")));
    byId("panel-warps").replaceChildren(element("table", { class: "list" },
      element("thead", {}, element("tr", {}, ...["warp", "lanes", "", "instruction"].map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows)));
  }

  drawCounters() {
    const panel = byId("panel-counters");
    const { counters } = this.done;
    if (!counters.length) return panel.replaceChildren(element("p", { class: "hint" }, "A launch that ends in a fault has no counters."));
    const all = element("input", { type: "checkbox", id: "all-counters" });
    const body = element("tbody");
    const draw = () => body.replaceChildren(...counters.filter((counter) => all.checked || counter.value).map((counter) => element("tr", { title: counter.text },
      element("th", { scope: "row" }, element("code", {}, counter.name), element("span", { class: "explained" }, counter.text)),
      element("td", { class: "value" }, counter.value === null ? "–" : Number.isInteger(counter.value) ? counter.value.toLocaleString("en") : counter.value.toFixed(2)),
      element("td", {}, counter.unit))));
    all.addEventListener("change", draw);
    draw();
    panel.replaceChildren(element("p", { class: "panel-note" }, "Counters of the whole launch, with the names of Nsight Compute. ", element("label", { class: "check" }, all, " include zeros")),
      element("table", { class: "list counters" }, element("thead", { class: "visually-hidden" }, element("tr", {}, ...["counter", "value", "unit"].map((head) => element("th", { scope: "col" }, head)))), body));
  }

  // `state` is `{findings, notes}`, or a text to show instead.
  drawFindings(state, again) {
    const panel = byId("panel-findings");
    const count = byId("finding-count");
    count.textContent = state.findings ? String(state.findings.length) : "";
    count.className = state.findings?.length ? "count some" : "count";
    if (typeof state === "string") {
      const button = again ? element("button", { type: "button", onclick: again }, "Check now") : null;
      return panel.replaceChildren(element("p", { class: "panel-note" }, state, " ", button));
    }
    const place = (line, source) => element("button", { type: "button", class: "link", onclick: () => this.listing.point(line) }, source ? `${shortPath(source)} (PTX line ${line})` : `PTX line ${line}`);
    const thread = (access) => `block (${access.block.join(", ")}), thread (${access.thread.join(", ")})`;
    panel.replaceChildren(
      ...(state.findings.length ? [] : [element("p", { class: "panel-note" }, "The sanitizers have no findings: no access out of bounds, no use of an uninitialized value, no race, and no wrong barrier or mask.")]),
      ...state.findings.map((finding) => element("article", { class: "finding" },
        element("h3", {}, element("span", { class: "check-name" }, finding.check), ` ${finding.what}`),
        element("p", {}, thread(finding), " at ", place(finding.ptx_line, finding.source), finding.where ? `; ${finding.where}` : ""),
        finding.other ? element("p", {}, `Other access: ${finding.other.what}, ${thread(finding.other)} at `, place(finding.other.ptx_line, finding.other.source)) : null,
        finding.times > 1 ? element("p", { class: "words" }, `found ${finding.times} times`) : null)),
      ...state.notes.map((note) => element("p", { class: "panel-note" }, note)));

    function shortPath(source) {
      return source.includes("kernels-gpu/") ? source.slice(source.indexOf("kernels-gpu/")) : source.split("/").slice(-2).join("/");
    }
  }

  showBuffer(isNew) {
    const buffer = this.done?.buffers[Number(byId("buffer").value)];
    if (!buffer) {
      byId("buffer-words").textContent = "The kernel has no buffers.";
      return this.buffer.show(0, () => {});
    }
    const [before, after] = [values.bytes(buffer.before), values.bytes(buffer.after)];
    if (isNew) {
      const words = new Uint32Array(after.buffer, 0, Math.min(after.length >> 2, 1024));
      const isKnown = buffer.kind?.startsWith("f") || !values.looksLikeFloats(words);
      byId("buffer-type").value = isKnown ? (buffer.kind in values.TYPES ? buffer.kind : "s32") : "f32";
    }
    const bytes = byId("buffer-when").value === "after" ? after : before;
    const [size, text] = values.TYPES[byId("buffer-type").value];
    const view = new DataView(bytes.buffer);
    const count = Math.floor(Math.min(bytes.length, buffer.bytes) / size);
    const whole = Math.floor(buffer.bytes / size);
    byId("buffer-words").textContent = (whole > count ? `the first ${count} of ${whole} elements` : counted(count, "element")) + "; highlighted where the launch changed the elements";
    this.buffer.show(Math.ceil(count / 8), (row) => ({
      head: String(row * 8),
      cells: (column) => {
        const at = (row * 8 + column) * size;
        if (at + size > count * size) return ["", "none"];
        let changed = false;
        for (let byte = at; byte < at + size; byte++) changed ||= before[byte] !== after[byte];
        return [text(view, at), changed ? "written" : ""];
      },
    }));
  }
}

function numbers(count) {
  return Array.from({ length: count }, (_, index) => String(index));
}

function fillSelect(id, options) {
  byId(id).replaceChildren(...Object.entries(options).map(([value, text]) => element("option", { value }, text)));
}
