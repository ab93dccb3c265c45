// Formats the values of registers, shared memory and buffers.
"use strict";

const values = (() => {
  const view = new DataView(new ArrayBuffer(8));

  function float(value, digits) {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (Object.is(value, -0)) return "-0.0";
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toFixed(1);
    const text = Number(value.toPrecision(digits));
    return Math.abs(text) >= 1e6 || Math.abs(text) < 1e-3 ? text.toExponential(Math.min(digits, 4) - 1) : String(text);
  }

  function f32(bits) {
    view.setUint32(0, bits);
    return view.getFloat32(0);
  }

  const hex = (value, digits) => value.toString(16).padStart(digits, "0");

  // Formats a 32-bit word.
  function word(bits, format) {
    switch (format) {
      case "f": return float(f32(bits), 5);
      case "s": return String(bits | 0);
      case "u": return String(bits >>> 0);
      case "x": return hex(bits >>> 0, 8);
      default: return plain(bits);
    }
  }

  // Formats a word of unknown type: small integers in decimal, other words in hexadecimal.
  function plain(bits) {
    const signed = bits | 0;
    return Math.abs(signed) < 1e7 ? String(signed) : hex(bits >>> 0, 8);
  }

  // Formats a 64-bit value, given as a text "0x…".
  function wide(text, format, place) {
    const bits = BigInt(text);
    const signed = BigInt.asIntN(64, bits);
    if (format === "x") return text.slice(2);
    if (format === "f") {
      view.setBigUint64(0, bits);
      return float(view.getFloat64(0), 6);
    }
    if (format === "s") return String(signed);
    if (format === "u") return String(bits);
    const named = place?.(bits);
    if (named) return named;
    return signed > -1_000_000_000n && signed < 1_000_000_000n ? String(signed) : text.slice(2);
  }

  // Returns whether words look like floats, which have exponents of common numbers.
  function looksLikeFloats(words) {
    let floats = 0;
    let others = 0;
    for (const bits of words) {
      if (bits === 0) continue;
      const size = Math.abs(f32(bits));
      if (size > 1e-7 && size < 1e10 && Math.abs(bits | 0) > 0xffffff) floats += 1;
      else others += 1;
    }
    return floats > 4 * others;
  }

  // Converts hexadecimal digits to bytes: "00ff".
  function bytes(digits) {
    const all = new Uint8Array(digits.length / 2);
    for (let at = 0; at < all.length; at++) all[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
    return all;
  }

  const TYPES = {
    f32: [4, (view, at) => float(view.getFloat32(at, true), 6)],
    s32: [4, (view, at) => String(view.getInt32(at, true))],
    u32: [4, (view, at) => String(view.getUint32(at, true))],
    b32: [4, (view, at) => hex(view.getUint32(at, true), 8)],
    f64: [8, (view, at) => float(view.getFloat64(at, true), 8)],
    s64: [8, (view, at) => String(view.getBigInt64(at, true))],
    u64: [8, (view, at) => String(view.getBigUint64(at, true))],
    u8: [1, (view, at) => String(view.getUint8(at))],
  };

  return { float, word, wide, looksLikeFloats, bytes, TYPES };
})();

// "1 lane", "2 lanes".
function counted(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function bitsOf(mask) {
  let count = 0;
  for (let left = mask >>> 0; left; left &= left - 1) count += 1;
  return count;
}

const hasLane = (mask, lane) => ((mask >>> lane) & 1) === 1;

// Describes the lanes of a mask: "lanes 0–15, 18".
function laneWords(mask) {
  const parts = [];
  for (let lane = 0; lane < 32; lane++) {
    if (!hasLane(mask, lane)) continue;
    const first = lane;
    while (lane < 31 && hasLane(mask, lane + 1)) lane += 1;
    parts.push(first === lane ? String(first) : `${first}–${lane}`);
  }
  if (parts.length === 0) return "no lanes";
  if (mask >>> 0 === 0xffffffff) return "all lanes";
  const all = parts.map(Number);
  const stride = all[1] - all[0];
  if (all.length > 3 && all.every((lane, index) => lane === all[0] + index * stride)) {
    return `every ${stride === 2 ? "second" : stride === 3 ? "third" : `${stride}th`} lane from ${all[0]} to ${all.at(-1)}`;
  }
  return `${bitsOf(mask) === 1 ? "lane" : "lanes"} ${parts.join(", ")}`;
}

// Creates an element with attributes and children.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const byId = (id) => document.getElementById(id);
