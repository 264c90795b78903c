// Quantities and elements.
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

function timeText(ns) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(ns) >= size * 0.9995) || [1, "ns"];
  const value = ns / size;
  return ns === 0 ? "0" : `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${unit}`;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; i + 1 < units.length && bytes >= 1023.5; ++i) bytes /= 1024;
  return `${bytes.toFixed(i === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2)} ${units[i]}`;
}

// 1.5e8 as 150 M: what stands before a unit such as flop.
function countText(count) {
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; i + 1 < units.length && count >= 999.5; ++i) count /= 1000;
  return `${+count.toPrecision(3)} ${units[i]}`;
}

// What the bars of a table mean: the same on the whole page.
const barsText = (total) => `A full bar is the kernel's whole time, ${timeText(total)}.`;

const percentText = (share) => `${(100 * share).toFixed(share && Math.abs(share) < 0.0995 ? 1 : 0)} %`;
const placeText = (place) => (place.line ? `${place.file}:${place.line}` : place.file || "(unknown line)");

// Files without their folders, where no other file has that name.
const shownFiles = new Map();
function nameFiles(files) {
  const base = (file) => file.slice(file.lastIndexOf("/") + 1);
  const all = [...new Set(files)];
  for (const file of all) {
    shownFiles.set(file, all.some((other) => other !== file && base(other) === base(file)) ? file : base(file));
  }
}
const shortPlace = (place) => placeText({file: shownFiles.get(place.file) ?? place.file, line: place.line});

// element("td", {class: "number"}, "text", child, …)
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A cell with a bar behind its text.
function meter(share, text) {
  const bar = element("i");
  bar.style.width = `${Math.min(100, Math.max(0, 100 * share))}%`;
  return element("td", {class: "meter"}, element("div", {}, bar, element("span", {}, text)));
}

function addRow(table, cells) {
  const row = element("tr");
  for (const cell of cells) row.append(cell instanceof Node ? cell : element("td", {}, cell));
  table.append(row);
  return row;
}
const number = (text) => element("td", {class: "number"}, text);
// Names that begin with > stand above numbers.
const headings = (table, ...names) => addRow(table, names.map(
    (name) => name[0] === ">" ? element("th", {class: "number"}, name.slice(1)) : element("th", {}, name)));
