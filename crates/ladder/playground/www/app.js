// The page: the run, the shown step, warp and lane, the keys, and the address.
"use strict";

const FIRST_RUNG = "reduce_smem";
// The sanitizers run on a longer launch only when the user asks for them.
const CHECKED_AT_ONCE = 200_000;

// The parameters of the address that are not options of a ladder.
const PAGE_PARAMETERS = ["rung", "block", "record", "step", "warp", "lane", "tab", "theme", "embed", "ptx"];

const app = (() => {
  const state = { run: null, step: 0, warp: 0, lane: 0 };
  const parameters = new URLSearchParams(location.search);
  // The texts of the given source files, by name.
  const sources = new Map();
  let panels;
  let listing;
  let panes;
  let checking = 0;

  function clamp(value, most) {
    return Math.min(Math.max(Number(value) || 0, 0), Math.max(most, 0));
  }

  // Called when the input has changed: marks the shown run as outdated and clears its verdict.
  function outdate() {
    problem(null);
    byId("verdict").className = "verdict";
    byId("verdict").textContent = "";
    byId("stage").classList.add("stale");
  }

  function problem(error) {
    const box = byId("problem");
    box.hidden = !error;
    box.textContent = error ? error.message : "";
    if (error && !(error instanceof simulator.Problem)) console.error(error);
  }

  // Runs the chosen input. `at` is the step, warp and lane to show first.
  function run(at = {}) {
    outdate();
    checking += 1;
    let done;
    try {
      const request = setup.request();
      done = simulator.ask(request);
      if (setup.mode() === "ptx") setup.showError(null);
    } catch (error) {
      problem(error);
      if (setup.mode() === "ptx" && error.line) setup.showError(error);
      return;
    }
    byId("stage").classList.remove("stale");
    state.run = done;
    drawTexts();
    panels.run(done, listing);
    byId("warp").replaceChildren(...numbers(done.warps).map((warp) => element("option", { value: warp }, `${warp} of ${done.warps}`)));
    verdict(done);
    if (done.fault) {
      problem(new simulator.Problem({ text: `The launch ended in a fault: ${done.fault.text}${done.steps ? " The last step caused the fault." : ""}` }));
    }
    if (!done.steps) {
      panels.drawFindings("Nothing was recorded.");
      return;
    }
    const last = done.steps - 1;
    state.step = clamp(at.step ?? (done.fault ? last : done.first), last);
    const view = simulator.ask({ ask: "view", step: state.step, warp: 0 });
    state.warp = at.warp === undefined ? (at.step === undefined && !done.fault ? 0 : view.current_warp) : clamp(at.warp, done.warps - 1);
    state.lane = clamp(at.lane, 31);
    drawOverview();
    show();
    later(done);
  }

  function drawTexts() {
    const { run } = state;
    listing = new Listing(run, panes, sources);
    panels.listing = listing;
    if (run.fault?.line) listing.fault(run.fault.line);
  }

  // Opens files: a file of `ladder why FILE.ptx --playground`, PTX, or the sources of the shown lines.
  async function receive(files) {
    const texts = await Promise.all([...files].map(async (file) => ({ name: file.name, text: await file.text() })));
    guarded(() => {
      const project = texts.find(({ name }) => name.endsWith(".json"));
      if (project) return open(project);
      const ptx = texts.find(({ name }) => name.endsWith(".ptx"));
      const sourceTexts = texts.filter(({ name }) => !name.endsWith(".ptx"));
      for (const { name, text } of sourceTexts) sources.set(name, text);
      if (ptx) return setup.setPtx(ptx.text);
      if (!state.run || byId("stage").classList.contains("stale")) return;
      drawTexts();
      if (state.run.steps) show();
      const unknown = sourceTexts.find(({ name }) => listing.fileOf(name) === undefined);
      if (unknown) problem(new simulator.Problem({ text: `no instruction of this kernel comes from a file \`${unknown.name}\`` }));
    });
  }

  function open({ name, text }) {
    try {
      const project = JSON.parse(text);
      setup.take({ ...project, arguments: project.arguments.map(setup.argumentOf) });
      sources.clear();
      for (const [path, source] of Object.entries(project.sources)) sources.set(path, source);
    } catch {
      throw new simulator.Problem({ text: `${name} is not a file that \`ladder why FILE.ptx --playground\` writes` });
    }
    run();
  }

  // Runs the sanitizers after the page has been drawn.
  function later(done) {
    const number = checking;
    const check = () => {
      try {
        panels.drawFindings(simulator.ask({ ask: "check" }));
      } catch (error) {
        panels.drawFindings(`The sanitizers failed: ${error.message}`);
      }
    };
    const executed = done.counters.find((counter) => counter.name === "ptx_inst_executed.sum")?.value ?? 0;
    if (executed > CHECKED_AT_ONCE) {
      panels.drawFindings(`The launch executes ${executed.toLocaleString("en")} instructions, so the sanitizers take a while.`, check);
      return;
    }
    panels.drawFindings("The sanitizers are running.");
    setTimeout(() => { if (number === checking) check(); }, 60);
  }

  function verdict(done) {
    const box = byId("verdict");
    const [kind, text] = done.fault ? ["bad", "fault"] : done.right === true ? ["good", "right"] : done.right === false ? ["bad", "wrong"] : ["", "has run"];
    box.className = `verdict ${kind}`;
    box.textContent = text;
    box.title = done.wrong ?? done.launch;
    if (done.wrong) problem(new simulator.Problem({ text: `The result is wrong: ${done.wrong}` }));
    document.title = `${done.launch} – playground`;
  }

  // Draws the state. Returns the elapsed milliseconds.
  function show() {
    const begin = performance.now();
    const view = simulator.ask({ ask: "view", step: state.step, warp: state.warp });
    listing.show(view.site);
    panels.show(view, state.lane);
    byId("warp").value = String(state.warp);
    byId("lane").value = String(state.lane);
    const { run } = state;
    const position = view.last_step === null ? "not started" : `instruction ${(view.step_index + 1).toLocaleString("en")} of ${view.step_count.toLocaleString("en")}`;
    byId("place").textContent = `${position} · step ${(state.step + 1).toLocaleString("en")} of ${run.steps.toLocaleString("en")}${run.cut ? ", where the recording ends" : ""} · block ${run.recorded}`;
    cursor();
    clearTimeout(show.timer);
    show.timer = setTimeout(() => {
      byId("said").textContent = `Warp ${state.warp}, ${position}: ${byId("operation").textContent}. ${byId("mask-words").textContent}.`;
      try {
        remember();
      } catch { /* The form differs from the input of the run. */ }
    }, 300);
    return performance.now() - begin;
  }

  // Stores the state in the address, so that it can be shared. The address of a file cannot be changed.
  function remember() {
    if (location.protocol === "file:") return;
    const kept = new URLSearchParams();
    if (setup.mode() === "rung") {
      const { rung, options, block, record } = setup.request();
      for (const [name, value] of Object.entries({ rung, ...options, block, record })) if (value !== "" && value !== 0) kept.set(name, value);
    }
    for (const name of ["theme", "embed"]) if (parameters.has(name)) kept.set(name, parameters.get(name));
    for (const name of ["step", "warp", "lane"]) kept.set(name, state[name]);
    kept.set("tab", panels.tab);
    history.replaceState(null, "", `?${kept}`);
  }

  // Goes to another step, of the shown warp or of any warp.
  function go(to, back = false, target = null) {
    if (!state.run?.steps) return;
    const last = state.run.steps - 1;
    if (to === "anyWarp") {
      const step = state.step + (back ? -1 : 1);
      if (step < 0 || step > last) return say(back ? "This is the first step." : "This is the last step.");
      state.step = step;
      state.warp = simulator.ask({ ask: "view", step, warp: state.warp }).current_warp;
    } else {
      const found = simulator.ask({ ask: "go", step: state.step, warp: state.warp, back, to: target ?? to });
      if (found === null) return say(`The warp has no ${to === "step" || to === "end" ? "instruction" : `other ${to}`} ${back ? "before" : "after"} this one.`);
      state.step = found;
    }
    return show();
  }

  function say(words) {
    byId("said").textContent = words;
    const place = byId("place");
    place.classList.remove("nudge");
    void place.offsetWidth;
    place.classList.add("nudge");
    place.title = words;
  }

  // Goes to the next execution of one of these instructions by the warp, or to the first execution if there is no later one.
  function goToSites(sites) {
    const steps = sites.map(([number, pc]) => simulator.ask({ ask: "go", step: state.step, warp: state.warp, to: { at: [number, pc] } })).filter((step) => step !== null);
    if (!steps.length) return say(`Warp ${state.warp} does not execute this line.`);
    const later = steps.filter((step) => step > state.step);
    state.step = Math.min(...(later.length ? later : steps));
    show();
  }

  function choose({ warp = state.warp, lane = state.lane }) {
    if (!state.run?.steps) return;
    state.warp = clamp(warp, state.run.warps - 1);
    state.lane = clamp(lane, 31);
    show();
  }

  // Draws the activity of the warps over the steps: a row for each warp, brighter where more lanes are active.
  function drawOverview() {
    const canvas = byId("overview");
    const { warps, steps } = state.run;
    const width = Math.max(64, Math.min(canvas.clientWidth, 2048));
    const height = Math.max(2, Math.min(12, Math.floor(64 / warps)));
    canvas.width = width;
    canvas.height = height * warps;
    canvas.style.height = `${Math.max(18, Math.min(84, canvas.height))}px`;
    canvas.setAttribute("aria-valuemax", steps);
    const style = getComputedStyle(document.documentElement);
    const context = canvas.getContext("2d");
    context.fillStyle = style.getPropertyValue("--activity");
    const cells = simulator.overview(width);
    for (let warp = 0; warp < warps; warp++) {
      for (let column = 0; column < width; column++) {
        const lanes = cells[warp * width + column];
        if (!lanes) continue;
        context.globalAlpha = 0.25 + (0.75 * lanes) / 32;
        context.fillRect(column, warp * height, 1, height > 3 ? height - 1 : height);
      }
    }
  }

  function cursor() {
    const { run, step, warp } = state;
    const marker = byId("cursor");
    marker.style.left = `${(100 * (step + 0.5)) / run.steps}%`;
    marker.style.setProperty("--row", (warp + 0.5) / run.warps);
    const canvas = byId("overview");
    canvas.setAttribute("aria-valuenow", step + 1);
    canvas.setAttribute("aria-valuetext", `step ${step + 1} of ${run.steps}, warp ${warp}`);
  }

  function seek(event) {
    const box = byId("overview").getBoundingClientRect();
    if (!state.run?.steps) return;
    const { steps, warps } = state.run;
    state.step = clamp(Math.floor(((event.clientX - box.left) / box.width) * steps), steps - 1);
    const view = simulator.ask({ ask: "view", step: state.step, warp: state.warp });
    // Selects the clicked warp if it has started by then, and otherwise the warp of the step.
    const clicked = clamp(Math.floor(((event.clientY - box.top) / box.height) * warps), warps - 1);
    state.warp = event.type === "pointerdown" ? (view.warps[clicked].site ? clicked : view.current_warp) : view.current_warp;
    show();
  }

  const KEYS = {
    ArrowRight: (shift) => go(shift ? "anyWarp" : "step", false),
    ArrowLeft: (shift) => go(shift ? "anyWarp" : "step", true),
    ArrowDown: () => choose({ lane: (state.lane + 1) % 32 }),
    ArrowUp: () => choose({ lane: (state.lane + 31) % 32 }),
    PageDown: () => choose({ warp: state.warp + 1 }),
    PageUp: () => choose({ warp: state.warp - 1 }),
    Home: () => go("end", true),
    End: () => go("end", false),
    s: (shift) => go("split", shift),
    b: (shift) => go("barrier", shift),
    g: (shift) => go("global", shift),
    m: (shift) => go("shared", shift),
    v: (shift) => go("warp", shift),
    "?": () => byId("help").showModal(),
  };

  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || byId("help").open) return;
    const target = event.target;
    if (target.closest("input, textarea, select")) return;
    // A scrollable element keeps the keys that scroll it.
    const scrolls = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"].includes(event.key);
    if (scrolls && target.closest(".scroll")) return;
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    guarded(() => act(event.shiftKey));
  }

  function guarded(act) {
    try {
      return act();
    } catch (error) {
      problem(error);
    }
  }

  function theme(name) {
    colours.choose(name);
    if (state.run?.steps) drawOverview();
  }

  function events() {
    for (const id of ["rung-form", "ptx-form", "editor"]) {
      byId(id).addEventListener("input", outdate);
      byId(id).addEventListener("submit", (event) => {
        event.preventDefault();
        guarded(() => run());
      });
    }
    byId("rung").addEventListener("change", () => guarded(() => run()));
    const targets = { first: ["end", true], previous: ["step", true], next: ["step", false], last: ["end", false] };
    for (const button of document.querySelectorAll("[data-go]")) {
      button.addEventListener("click", (event) => guarded(() => {
        const [to, back] = targets[button.dataset.go];
        go(event.shiftKey && to === "step" ? "anyWarp" : to, back);
      }));
    }
    for (const button of document.querySelectorAll("[data-find]")) {
      button.addEventListener("click", (event) => guarded(() => go(button.dataset.find, event.shiftKey)));
    }
    byId("lane").replaceChildren(...numbers(32).map((lane) => element("option", { value: lane }, lane)));
    byId("warp").addEventListener("change", () => choose({ warp: Number(byId("warp").value) }));
    byId("lane").addEventListener("change", () => choose({ lane: Number(byId("lane").value) }));
    const canvas = byId("overview");
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      guarded(() => seek(event));
    });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) guarded(() => seek(event)); });
    const hideLines = () => panes.code.choose((line) => line.kind !== "loc" || !byId("hide-lines").checked);
    byId("hide-lines").addEventListener("change", hideLines);
    hideLines();
    byId("take").addEventListener("click", () => { if (state.run) setup.take({ ...state.run, ptx: state.run.listing.ptx, shared: state.run.dynamic_shared }); });
    document.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
    document.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      receive(event.dataTransfer.files).catch(problem);
    });
    byId("files").addEventListener("input", (event) => {
      event.stopPropagation();
      receive(byId("files").files).catch(problem);
      // Allows the user to choose the same file again.
      byId("files").value = "";
    });
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("theme").addEventListener("click", () => theme(colours.isDark() ? "light" : "dark"));
    document.addEventListener("keydown", key);
    new ResizeObserver(() => { if (state.run?.steps) drawOverview(); }).observe(canvas.parentElement);
    colours.systemIsDark.addEventListener("change", () => theme());
  }

  async function start() {
    if (parameters.has("embed")) document.documentElement.classList.add("embed");
    panels = new Panels(choose);
    const onLine = (sites) => guarded(() => goToSites(sites));
    panes = { source: new Lines(byId("source"), onLine), code: new Lines(byId("code"), onLine) };
    events();
    try {
      await simulator.ready();
      setup.start(simulator.ask({ ask: "catalog" }), outdate);
      const given = Object.fromEntries(parameters);
      const rung = parameters.get("rung") ?? (setup.rungOf(FIRST_RUNG) ? FIRST_RUNG : byId("rung").value);
      if (!setup.rungOf(rung)) {
        setup.chooseRung(byId("rung").value);
        throw new simulator.Problem({ text: `no rung is named \`${rung}\`: choose one from the list` });
      }
      setup.chooseRung(rung, given);
      const unknown = [...parameters.keys()].filter((name) => !PAGE_PARAMETERS.includes(name) && !document.querySelector(`[data-option="${CSS.escape(name)}"]`));
      const at = Object.fromEntries(["step", "warp", "lane"].filter((name) => parameters.has(name)).map((name) => [name, parameters.get(name)]));
      if (byId(`tab-${parameters.get("tab")}`)) panels.open(parameters.get("tab"));
      if (parameters.has("ptx")) setup.choose("ptx");
      run(at);
      if (unknown.length && byId("problem").hidden) problem(new simulator.Problem({ text: `the address has ${unknown.map((name) => `\`${name}\``).join(", ")}, but the ladder has no such option` }));
    } catch (error) {
      problem(error);
    }
    byId("stage").setAttribute("aria-busy", "false");
    document.documentElement.dataset.ready = "";
  }

  start();
  return { state, run, go, choose, show };
})();
