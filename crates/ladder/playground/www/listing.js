// The source and the PTX of a run, side by side.
"use strict";

const isDebugLine = (text) => /^\s*(\.(loc|file)\b|\$L__tmp\d+:)/.test(text);

class Listing {
  // `source` and `code` are the `Lines` of the source and of the PTX. `sources` maps names to the texts of given source files.
  constructor(run, { source, code }, sources) {
    this.listing = run.listing;
    this.source = source;
    this.code = code;
    // The instructions by line of the PTX, and by file and line of the source.
    this.byPtx = new Map();
    this.bySource = new Map();
    this.most = 1;
    this.listing.functions.forEach(({ code: instructions }, number) => instructions.forEach((instruction, pc) => {
      push(this.byPtx, instruction.ptx, [number, pc]);
      if (instruction.source) push(this.bySource, instruction.source.join(":"), [number, pc]);
      this.most = Math.max(this.most, instruction.executed?.[0] ?? 0);
    }));
    this.ptxLines = this.listing.ptx.split("\n");
    if (this.ptxLines.at(-1) === "") this.ptxLines.pop();
    code.show(this.ptxLines.map((text, index) => {
      const kind = isDebugLine(text) ? "loc" : /^\s*\/\//.test(text) ? "comment" : /:\s*$/.test(text) ? "label" : "";
      return this.line(index + 1, text.replaceAll("\t", "  "), this.byPtx.get(index + 1), kind);
    }));
    this.drawFiles(sources);

    function push(map, key, value) {
      if (map.has(key)) map.get(key).push(value);
      else map.set(key, [value]);
    }
  }

  instruction([number, pc]) {
    return this.listing.functions[number].code[pc];
  }

  // Returns the text of an instruction.
  text(site) {
    return this.ptxLines[this.instruction(site).ptx - 1]?.trim().replaceAll(/\s+/g, " ") ?? "";
  }

  line(number, text, sites, kind) {
    const executed = sites?.reduce((all, site) => all + (this.instruction(site).executed?.[0] ?? 0), 0) ?? 0;
    const heat = executed ? Math.max(6, Math.round((100 * Math.log1p(executed)) / Math.log1p(this.most))) : 0;
    return { number, text, kind, executed, heat, sites };
  }

  drawFiles(sources) {
    const select = byId("file");
    const { files, kernel } = this.listing;
    const used = [...new Set([...this.bySource.keys()].map((key) => Number(key.split(":")[0])))];
    // The kernel's file comes first, then files with known text.
    const count = (file) => [...this.bySource].filter(([key]) => key.startsWith(`${file}:`)).reduce((all, [, sites]) => all + sites.length, 0);
    used.sort((a, b) => (b === kernel?.[0]) - (a === kernel?.[0]) || Boolean(files[b].text) - Boolean(files[a].text) || count(b) - count(a));
    // A name matches a path that ends with it. If several paths match, the first path is used.
    this.fileOf = (name) => used.find((file) => `/${files[file].name.replaceAll("\\", "/")}`.endsWith(`/${name}`));
    for (const [name, text] of sources) {
      const file = this.fileOf(name);
      if (file !== undefined) files[file].text = text;
    }
    select.replaceChildren(...used.map((file) => element("option", { value: file }, shortName(files[file].name))));
    select.onchange = () => this.openFile(Number(select.value));
    byId("source-pane").hidden = used.length === 0;
    this.file = null;
    if (used.length) this.openFile(used[0]);

    function shortName(name) {
      const parts = name.split("/");
      return parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : name;
    }
  }

  openFile(file) {
    if (this.file === file) return;
    this.file = file;
    byId("file").value = String(file);
    const { text, name } = this.listing.files[file];
    const sites = (line) => this.bySource.get(`${file}:${line}`);
    if (text === null) {
      const numbers = [...this.bySource.keys()].filter((key) => key.startsWith(`${file}:`)).map((key) => Number(key.split(":")[1]));
      numbers.sort((a, b) => a - b);
      this.source.show(numbers.map((line) => this.line(line, "", sites(line), "")), `The source ${name} is not available. These lines have instructions:`);
      return;
    }
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    this.source.show(lines.map((line, index) => this.line(index + 1, line, sites(index + 1), /^\s*\/\//.test(line) ? "comment" : "")));
  }

  // Marks the lines of an instruction, and all PTX lines with the same source line.
  show(site) {
    if (!site) {
      this.code.mark({ here: [], same: [] });
      this.source.mark({ here: [] });
      return;
    }
    const { ptx, source } = this.instruction(site);
    const same = source ? this.bySource.get(source.join(":")).map((other) => this.instruction(other).ptx) : [];
    if (source) this.openFile(source[0]);
    this.source.mark({ here: source ? [source[1]] : [] });
    if (source) this.source.reveal(source[1]);
    this.code.mark({ same, here: [ptx] });
    this.code.reveal(ptx);
  }

  // Points to a line of the PTX, for example the line of a finding.
  point(ptxLine) {
    const [site] = this.byPtx.get(ptxLine) ?? [];
    const source = site && this.instruction(site).source;
    if (source) this.openFile(source[0]);
    const panes = [[this.code, ptxLine], ...(source ? [[this.source, source[1]]] : [])];
    for (const [pane, line] of panes) {
      pane.reveal(line);
      pane.mark({ pointed: [line] });
      setTimeout(() => pane.mark({ pointed: [] }), 1600);
    }
  }

  fault(ptxLine) {
    this.code.mark({ fault: [ptxLine] });
  }
}
