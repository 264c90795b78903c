// Fills the page from its data.
const report = JSON.parse(document.getElementById("report-data").textContent);
const picture = JSON.parse(document.getElementById("picture-data").textContent);
const sources = JSON.parse(document.getElementById("sources-data").textContent);
const byId = (id) => document.getElementById(id);

const lineRows = new Map();  // "file:line" to its row in the source
let chosenRow = null;

// Marks a line of the source; marking it again takes that back unless `keep`.
function markLine(place, keep) {
  const row = lineRows.get(placeText(place));
  if (chosenRow) chosenRow.classList.remove("chosen");
  chosenRow = row === chosenRow && !keep ? null : row;
  if (!chosenRow) return;
  chosenRow.classList.add("chosen");
  const box = chosenRow.closest(".file");  // scrolls, while the page stays where the user looks
  if (keep) box.scrollTop = chosenRow.offsetTop - box.clientHeight / 2;
}

// Marks a line and brings out its slices.
function chooseLine(place, keep) {
  chooseChain([]);
  markLine(place, keep);
  const labels = new Set();
  picture.labels.forEach((label, i) => {
    if (chosenRow && label.file === place.file && label.line === place.line) labels.add(i);
  });
  timeline.choose(labels);
}

// Brings out a chain and lists it; the steps of the list are the way to their slices and lines.
function chooseChain(steps) {
  timeline.chooseChain(steps);
  showChain(byId("chain"), timeline, picture, steps, (entry) => {
    if (!entry) return chooseSlice(null);
    timeline.reveal(entry.from, entry.to);
    markLine(entry.label, true);
  });
}

// A slice, its line and all that it had to wait for; null takes that back.
function chooseSlice(found) {
  if (chosenRow) chosenRow.classList.remove("chosen");
  chosenRow = null;
  timeline.choose(null);
  if (!found) return chooseChain([]);
  chooseLine(picture.labels[found.row.label[found.index]], true);
  chooseChain(chainOf(timeline, found.row.first + found.index));
}

function showHead() {
  document.title = `${report.program} on ${report.target}: ${timeText(report.total_ns)}`;
  byId("title").textContent = `${report.program} on ${report.target}`;
  const {low_ns, high_ns, basis, rows} = report.band;
  byId("total").textContent = timeText(report.total_ns) +
      (high_ns ? `, between ${timeText(low_ns)} and ${timeText(high_ns)}` : "");
  const facts = [`bottleneck: ${report.bottleneck}`];
  if (basis) facts.push(`band: ${basis} (${rows.length} measurements)`);
  const count = report.ranks.reduce((sum, ranks) => sum + ranks.count, 0);
  if (count > 1) facts.unshift(`${count} ranks${report.topology ? ` on ${report.topology}` : ""}`);
  if (report.what_if.length) facts.push(`what if ${report.what_if.join(", ")}`);
  byId("facts").textContent = facts.join(" · ");
}

function showEngines() {
  const table = byId("engines");
  headings(table, "engine", ">instructions", "busy", ">waiting", "mostly for");
  for (const engine of report.engines) {
    if (!engine.instruction_count) continue;
    const waits = Object.entries(engine.waiting_ns).sort((a, b) => b[1] - a[1]);
    const waiting = waits.reduce((sum, wait) => sum + wait[1], 0);
    addRow(table, [engine.name, number(String(engine.instruction_count)),
                   meter(engine.busy_ns / report.total_ns,
                         `${timeText(engine.busy_ns)}, ${percentText(engine.busy_ns / report.total_ns)}`),
                   number(timeText(waiting)),
                   element("td", {}, ...waits.slice(0, 2).map(([name, ns]) => element(
                       "div", {}, `${report.wait_words[name]} ${timeText(ns)}`)))]);
  }
}

function showCeilings() {
  const table = byId("ceilings");
  headings(table, "part", ">work", ">least time", "of the total");
  for (const ceiling of report.roofline.ceilings) {
    const work = ceiling.unit === "bytes" ? bytesText(ceiling.work) : `${countText(ceiling.work)}flop`;
    addRow(table, [ceiling.name, number(work), number(timeText(ceiling.least_ns)),
                   meter(ceiling.least_ns / report.total_ns, percentText(ceiling.least_ns / report.total_ns))]);
  }
}

function showAdvice() {
  const holder = byId("advice");
  if (!report.advice.length) holder.append(element("p", {class: "hint"}, "Nothing that gains 1 % or more."));
  for (const advice of report.advice) {
    const lines = element("div", {}, "lines: ");
    advice.lines.forEach((place, i) => {
      const follows = i && place.line && place.file === advice.lines[i - 1].file;
      const link = element("a", {class: "place"}, follows ? String(place.line) : shortPlace(place));
      link.addEventListener("click", () => {
        chooseLine(place, true);
        byId("source-section").scrollIntoView();
      });
      lines.append(i ? ", " : "", link);
    });
    if (advice.lines_left_out) lines.append(` and ${advice.lines_left_out} more`);
    holder.append(element("div", {class: "advice"},
        element("span", {class: "gain"},
                `about ${timeText(advice.gain_ns)} (${percentText(advice.gain_ns / report.total_ns)})`),
        element("b", {}, `${advice.rule}: ${advice.found}`), element("div", {}, advice.remedy), lines,
        element("div", {class: "estimate"}, `gain: ${advice.estimate}`)));
  }
}

function showFigures() {
  headings(byId("figures"), "figure", ">value", "its name in the vendor's profiler and in --json");
  for (const {key, label, text} of report.figures) {
    addRow(byId("figures"), [label, number(text), element("td", {class: "key"}, key)]);
  }
}

function showLegend() {
  for (const [name, index] of timeline.colours) {
    if (index > 7) {
      byId("legend").append(element("span", {}, swatch(8), "others, or not drawn"));
      break;
    }
    byId("legend").append(element("span", {}, swatch(index), name));
  }
  byId("legend").append(element("span", {}, swatch("strong"), "on the critical path"));
}

// Every lane and curve in words; those with the same words share a line.
function showLanes() {
  const names = new Map();
  for (const {name, about} of [...timeline.tracks, ...picture.curves]) {
    if (!names.has(about)) names.set(about, []);
    names.get(about).push(name);
  }
  for (const [about, of] of names) {
    const shown = of.length > 4 ? [...of.slice(0, 2), "…", of[of.length - 1]] : of;
    byId("lanes").append(element("dt", {}, shown.join(", ").replace(", …,", " …")), element("dd", {}, about));
  }
}

function swatch(index) {
  const made = element("i");
  made.style.background = index === "strong" ? "var(--strong)" : `var(--c${index})`;
  return made;
}

function showTooltip(found, event) {
  const tip = byId("tooltip");
  tip.hidden = !found;
  if (!found) return;
  if (found.about) {  // the name of a lane or curve
    tip.replaceChildren(element("b", {}, found.name), element("div", {}, found.about));
    placeTooltip(tip, event);
    return;
  }
  const {track, row, index} = found;
  const label = picture.labels[row.label[index]];
  tip.replaceChildren(
      element("b", {}, label.name), ` on ${track.name}, ${shortPlace(label)}`,
      element("div", {}, `${timeText(row.end[index] - row.start[index])}, from ${timeText(row.start[index])} to ` +
                             timeText(row.end[index]) +
                             (row.critical[index] ? ", on the critical path" : "")),
      element("div", {}, waitText(timeline, picture, row, index)),
      element("code", {}, label.detail));
  placeTooltip(tip, event);
}
function placeTooltip(tip, event) {
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18, above = event.clientY - tip.offsetHeight - 10;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${below + tip.offsetHeight < window.innerHeight ? below : Math.max(above, 4)}px`;
}

nameFiles([...picture.labels, ...report.lines].map((place) => place.file));
const timeline = new Timeline(byId("timeline"), picture, chooseSlice);
timeline.onHover = showTooltip;
byId("only-critical").addEventListener("change", (event) => {
  timeline.onlyCritical = event.target.checked;
  timeline.drawSoon();
});
if (picture.slices_left_out) byId("left-out").textContent = `${picture.slices_left_out} later slices are not drawn.`;
showHead();
showEngines();
showCeilings();
drawRoofline(byId("roofline"), report.roofline);
showAdvice();
showSource(byId("source"), report, sources, lineRows, (line) => chooseLine(line, false));
showFigures();
showLegend();
showLanes();
for (const hint of document.querySelectorAll(".bars")) hint.textContent = barsText(report.total_ns);
