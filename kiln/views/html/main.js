// Fills the page from its data.
const report = JSON.parse(document.getElementById("report-data").textContent);
const picture = JSON.parse(document.getElementById("picture-data").textContent);
const sources = JSON.parse(document.getElementById("sources-data").textContent);
const byId = (id) => document.getElementById(id);

const lineRows = new Map();  // "file:line" to its row in the source
let chosenRow = null, chosenPlace = null;

// Marks a line and brings out its slices; choosing it again takes that back unless `keep`.
function chooseLine(place, keep) {
  const row = lineRows.get(placeText(place));
  if (chosenRow) chosenRow.classList.remove("chosen");
  chosenRow = row === chosenRow && !keep ? null : row;
  chosenPlace = place;
  const labels = new Set();
  if (chosenRow) {
    chosenRow.classList.add("chosen");
    const box = chosenRow.closest(".file");  // scrolls, while the page stays where the user looks
    if (keep) box.scrollTop = chosenRow.offsetTop - box.clientHeight / 2;
    picture.labels.forEach((label, i) => {
      if (label.file === place.file && label.line === place.line) labels.add(i);
    });
  }
  timeline.choose(labels);
}

function showHead() {
  document.title = `${report.program} on ${report.target}: ${timeText(report.total_ns)}`;
  byId("title").textContent = `${report.program} on ${report.target}`;
  const {low_ns, high_ns, basis, rows} = report.band;
  byId("total").textContent = timeText(report.total_ns) +
      (high_ns ? `, between ${timeText(low_ns)} and ${timeText(high_ns)}` : "");
  const facts = [`bottleneck: ${report.bottleneck}`];
  if (basis) facts.push(`band: ${basis} (${rows.length} measurements)`);
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
                   waits.slice(0, 2).map(([name, ns]) => `${report.wait_words[name]} ${timeText(ns)}`).join(", ")]);
  }
}

function showCeilings() {
  const table = byId("ceilings");
  headings(table, "part", ">work", ">least time", "of the total");
  for (const ceiling of report.roofline.ceilings) {
    const work = ceiling.unit === "bytes" ? bytesText(ceiling.work) : `${ceiling.work.toPrecision(3)} flop`;
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
      const link = element("a", {class: "place"}, follows ? String(place.line) : placeText(place));
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

const MAX_ROWS = 5000;  // of a file

// The lines to show of a file: all of a short one, else those on which most of the time hangs.
function chooseNumbers(text, timed) {
  const known = text ? text.map((_, i) => i + 1) : [];
  let numbers = [...new Set([...known, ...timed.keys()])];
  if (numbers.length > MAX_ROWS) {
    const weight = ([, line]) => line.critical_ns || line.busy_ns * 1e-6;
    numbers = [...timed].sort((a, b) => weight(b) - weight(a)).slice(0, MAX_ROWS).map(([n]) => n);
  }
  return numbers.sort((a, b) => a - b);
}

// Every file with a timed line: its text when it is known, else only those lines.
function showSource() {
  const files = new Map();
  for (const line of report.lines) {
    if (!files.has(line.file)) files.set(line.file, new Map());
    files.get(line.file).set(line.line, line);
  }
  for (const [file, timed] of files) {
    const text = sources[file] === undefined ? null : sources[file].split("\n");
    const table = element("table");
    const numbers = chooseNumbers(text, timed);
    for (const n of numbers) {
      const time = timed.get(n);
      const row = addRow(table, [
        number(String(n)),
        time ? meter(time.critical_ns / report.total_ns, `${timeText(time.busy_ns)} busy`) : element("td"),
        number(time ? `${percentText(time.critical_ns / report.total_ns)} of the path` : ""),
        element("td", {class: "code"}, text && n <= text.length ? text[n - 1] : time.instructions),
      ]);
      if (!time) continue;
      row.classList.add("timed");
      row.title = `${time.executions} executions, ${timeText(time.critical_ns)} of the critical path`;
      row.addEventListener("click", () => chooseLine(time, false));
      lineRows.set(placeText(time), row);
    }
    const left = timed.size - numbers.filter((n) => timed.has(n)).length;
    const title = (file || "(unknown file)") + (left ? `, without ${left} lines that matter less` : "");
    byId("source").append(element("div", {class: "file"}, element("h3", {}, title), table));
  }
}

function showFigures() {
  for (const [key, value] of Object.entries(report.summary)) {
    addRow(byId("figures"), [key, number(String(+value.toPrecision(6)))]);
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
function swatch(index) {
  const made = element("i");
  made.style.background = index === "strong" ? "var(--strong)" : `var(--c${index})`;
  return made;
}

function showTooltip(found, event) {
  const tip = byId("tooltip");
  tip.hidden = !found;
  if (!found) return;
  const {track, row, index} = found;
  const label = picture.labels[row.label[index]];
  tip.replaceChildren(
      element("b", {}, label.name), ` on ${track.name}, ${placeText(label)}`,
      element("div", {}, `${timeText(row.end[index] - row.start[index])} from ${timeText(row.start[index])}` +
                             (row.critical[index] ? ", on the critical path" : "")),
      row.cause[index]
          ? element("div", {}, `waited ${timeText(row.wait[index] / 1000)} for ${picture.causes[row.cause[index]]}`)
          : "",
      element("code", {}, label.detail));
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18, above = event.clientY - tip.offsetHeight - 10;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${below + tip.offsetHeight < window.innerHeight ? below : Math.max(above, 4)}px`;
}

const timeline = new Timeline(byId("timeline"), picture, (found) => {
  if (found) chooseLine(picture.labels[found.row.label[found.index]], true);
  else if (chosenRow) chooseLine(chosenPlace, false);
});
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
showSource();
showFigures();
showLegend();
