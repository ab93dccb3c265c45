// Draws one instruction: the lanes of a mask, and the sectors and banks of a request.
"use strict";

const figures = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function svg(name, attributes, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function drawing(width, height, label) {
    const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "figure" });
    image.style.maxWidth = `${width * 1.25}px`;
    return image;
  }

  // Creates a strip of 32 small bars, for lists.
  function strip(mask, threads = 0xffffffff, exited = 0) {
    const bars = element("span", { class: "strip", role: "img", "aria-label": laneWords(mask) });
    for (let lane = 0; lane < 32; lane++) {
      const kind = hasLane(mask, lane) ? "on" : hasLane(exited, lane) || !hasLane(threads, lane) ? "gone" : "";
      bars.append(element("i", { class: kind }));
    }
    return bars;
  }

  const LANE = 18;

  function laneBoxes(image, mask, y, lane) {
    for (let at = 0; at < 32; at++) {
      const kind = hasLane(mask, at) ? "lane on" : "lane";
      image.append(
        svg("rect", { x: at * LANE + 1, y, width: LANE - 2, height: 14, rx: 2, class: at === lane ? `${kind} chosen` : kind }),
        svg("text", { x: at * LANE + LANE / 2, y: y + 10.5, class: hasLane(mask, at) ? "on" : "" }, String(at)),
      );
    }
  }

  // Draws the lanes at the top, the touched sectors below, and a line from each lane to its bytes.
  function sectors(request, chosen, words) {
    const { mask, bytes, addresses } = request;
    const touched = new Map();
    for (let lane = 0; lane < 32; lane++) {
      if (!hasLane(mask, lane)) continue;
      for (let at = addresses[lane]; at < addresses[lane] + bytes; at++) {
        const sector = Math.floor(at / 32);
        if (!touched.has(sector)) touched.set(sector, new Set());
        touched.get(sector).add(Math.floor((at % 32) / 4));
      }
    }
    const all = [...touched.keys()].sort((a, b) => a - b);
    // There is a small gap between sectors, and a larger gap between lines of 128 bytes.
    const places = new Map();
    let units = 0;
    let line = null;
    for (const sector of all) {
      const sectorLine = Math.floor(sector / 4);
      if (line !== null) units += sectorLine === line ? 0.6 : 2;
      line = sectorLine;
      places.set(sector, units);
      units += 8;
    }
    const width = 32 * LANE;
    const unit = Math.min(9, (width - 2) / Math.max(units, 1));
    const left = (width - units * unit) / 2;
    const image = drawing(width, 92, words);
    for (let lane = 0; lane < 32; lane++) {
      if (!hasLane(mask, lane)) continue;
      const at = addresses[lane];
      const x = left + (places.get(Math.floor(at / 32)) + (at % 32) / 4 + Math.min(bytes, 32) / 8) * unit;
      const from = lane * LANE + LANE / 2;
      image.append(svg("path", { d: `M${from} 15 C${from} 42 ${x} 36 ${x} 62`, class: lane === chosen ? "wire chosen" : "wire" }));
    }
    laneBoxes(image, mask, 0, chosen);
    for (const sector of all) {
      const x = left + places.get(sector) * unit;
      for (let word = 0; word < 8; word++) {
        const used = touched.get(sector).has(word);
        image.append(svg("rect", { x: x + word * unit, y: 63, width: unit, height: 14, class: used ? "word used" : "word" }));
      }
      image.append(svg("rect", { x, y: 63, width: 8 * unit, height: 14, rx: 1, class: "sector" }));
    }
    image.append(svg("text", { x: width / 2, y: 89, class: "note" }, `${counted(all.length, "sector")} of 32 bytes`));
    return image;
  }

  // Draws a row for each wavefront and a column for each bank. A cell shows the lanes that use its word.
  function banks(request, chosen, words) {
    const rows = request.wavefronts;
    const shown = rows.slice(0, 32);
    const top = 26;
    const row = 13;
    const width = 32 * LANE + 20;
    const image = drawing(width, top + shown.length * row + (rows.length > shown.length ? 14 : 2), words);
    image.append(svg("text", { x: 20, y: 9, class: "note start" }, "bank"));
    for (let bank = 0; bank < 32; bank++) {
      image.append(svg("text", { x: 20 + bank * LANE + LANE / 2, y: 21, class: "number" }, String(bank)));
    }
    shown.forEach((wavefront, number) => {
      const y = top + number * row;
      image.append(svg("text", { x: 9, y: y + 9, class: "number" }, String(number + 1)));
      for (let bank = 0; bank < 32; bank++) {
        image.append(svg("rect", { x: 20 + bank * LANE + 1, y, width: LANE - 2, height: row - 2, rx: 2, class: "bank" }));
      }
      for (const [word, lanes] of wavefront) {
        const x = 20 + (word % 32) * LANE;
        const first = 31 - Math.clz32(lanes & -lanes);
        const kind = hasLane(lanes, chosen) ? "bank used chosen" : "bank used";
        image.append(
          svg("rect", { x: x + 1, y, width: LANE - 2, height: row - 2, rx: 2, class: kind }),
          svg("text", { x: x + LANE / 2, y: y + 9, class: "on" }, bitsOf(lanes) === 1 ? String(first) : `${first}+`),
        );
      }
    });
    if (rows.length > shown.length) {
      image.append(svg("text", { x: width / 2, y: top + shown.length * row + 10, class: "note" }, `and ${rows.length - shown.length} more`));
    }
    return image;
  }

  // Creates the description and the drawing of a request.
  function request(access, chosen, place) {
    const lanes = bitsOf(access.mask);
    const used = lanes * access.bytes;
    const asked = `${access.kind} of ${access.bytes} bytes by ${counted(lanes, "lane")}`;
    const at = hasLane(access.mask, chosen) ? `; lane ${chosen}: ${place(access.space, access.addresses[chosen])}` : "";
    if (access.space === "shared") {
      const count = access.wavefronts.length;
      const words = `${asked}: ${counted(count, "wavefront")}${at}`;
      return element("figure", { class: count > 1 && access.bytes <= 4 ? "bad" : "" },
        element("figcaption", {}, element("b", {}, "Shared memory"), ` ${words}`), banks(access, chosen, words));
    }
    if (access.space === "global") {
      const sectorsCount = access.sectors ?? 0;
      const share = sectorsCount ? Math.min(100, Math.round((100 * distinctBytes(access)) / (32 * sectorsCount))) : 0;
      const words = `${asked}, ${used} bytes: ${counted(sectorsCount, "sector")}, ${share} % of their bytes used${at}`;
      return element("figure", { class: share < 50 ? "bad" : "" },
        element("figcaption", {}, element("b", {}, "Global memory"), ` ${words}`), sectors(access, chosen, words));
    }
    return element("figure", {}, element("figcaption", {}, element("b", {}, `${access.space[0].toUpperCase()}${access.space.slice(1)} memory`), ` ${asked}${at}`));
  }

  function distinctBytes({ mask, bytes, addresses }) {
    const all = new Set();
    for (let lane = 0; lane < 32; lane++) if (hasLane(mask, lane)) all.add(addresses[lane]);
    return all.size * bytes;
  }

  return { strip, request };
})();
