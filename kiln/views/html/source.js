// The source with its times.
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

// Lines by file, the file with most of the critical path first.
function filesOf(lines) {
  const files = new Map();
  for (const line of lines) {
    if (!files.has(line.file)) files.set(line.file, new Map());
    files.get(line.file).set(line.line, line);
  }
  const weight = ([, timed]) => [...timed.values()].reduce((sum, line) => sum + line.critical_ns, 0);
  return [...files].sort((a, b) => weight(b) - weight(a));
}

// A row of the source: its number, two bars of the same scale, its text.
function sourceRow(table, n, time, code, total) {
  const share = time ? time.critical_ns / total : 0;
  const cells = time ? [meter(time.busy_ns / total, timeText(time.busy_ns)),
                        meter(share, share ? `${timeText(time.critical_ns)}, ${percentText(share)}` : "")]
                     : [element("td"), element("td")];
  return addRow(table, [number(String(n)), ...cells, element("td", {class: "code"}, code)]);
}

// Every file with a timed line: its text when it is known, else only those lines. `rows` takes the row of each timed
// line by its place.
function showSource(holder, report, sources, rows, onLine) {
  for (const [file, timed] of filesOf(report.lines)) {
    const text = sources[file] === undefined ? null : sources[file].split("\n");
    const table = element("table");
    const numbers = chooseNumbers(text, timed);
    headings(table, ">line", "busy", "on the critical path", "");
    for (const n of numbers) {
      const time = timed.get(n);
      const code = text && n <= text.length ? text[n - 1] : time.instructions;
      const row = sourceRow(table, n, time, code, report.total_ns);
      if (!time) continue;
      row.classList.add("timed");
      row.title = `${time.instructions}: ${time.executions} executions, ${timeText(time.waiting_ns)} of waiting` +
          (time.waiting_ns ? `, mostly for ${report.wait_words[time.waits_for]}` : "");
      row.addEventListener("click", () => onLine(time));
      rows.set(placeText(time), row);
    }
    const left = timed.size - numbers.filter((n) => timed.has(n)).length;
    const title = (file || "(unknown file)") + (left ? `, without ${left} lines that matter less` : "");
    const box = element("div", {class: "file"}, element("h3", {}, title), table);
    holder.append(box);
    const first = table.querySelector("tr.timed");
    if (first) box.scrollTop = first.offsetTop - 2 * first.offsetHeight - 60;
  }
}
