// The chain of a slice: what let it start, what let that start, and so on back to the first instruction.
const MAX_STEPS = 200;  // rows of the list; the highlight has all of them

// Steps from the slice back to the start: {place, number, from, to}. A step lasts until the next one could start, so
// the steps of a chain follow each other without a gap.
function chainOf(timeline, number) {
  const steps = [], seen = new Set();
  let to = null;
  while (number >= 0 && !seen.has(number)) {
    const place = timeline.find(number);
    if (!place) break;
    seen.add(number);
    const from = place.row.start[place.index];
    steps.push({place, number, from, to: to ?? place.row.end[place.index]});
    to = from;
    number = place.row.reason(place.index);
  }
  return steps;
}

// Steps of one line on one lane in a row become one entry.
function foldChain(steps, labels) {
  const folded = [];
  for (const step of steps) {
    const label = labels[step.place.row.label[step.place.index]];
    const last = folded[folded.length - 1];
    if (last && last.track === step.place.track && last.label.name === label.name &&
        placeText(last.label) === placeText(label)) {
      last.count += 1;
      last.from = step.from;
      last.wait = step.place;
    } else {
      folded.push({track: step.place.track, label, count: 1, from: step.from, to: step.to, wait: step.place,
                   first: step.number});
    }
  }
  return folded;
}

// How much of a span lies in iterations that are not drawn.
function notDrawn(timeline, from, to) {
  let sum = 0;
  for (const track of timeline.tracks.filter((track) => track.leftOut)) {
    for (const row of track.rows) {
      for (let i = row.firstEndingAfter(from); i < row.count && row.start[i] < to; ++i) {
        sum += Math.min(to, row.end[i]) - Math.max(from, row.start[i]);
      }
    }
  }
  return sum;
}

// What a slice waited for, in words; "" when nothing let it start.
function waitText(timeline, picture, row, index) {
  const cause = picture.causes[row.cause[index]];
  const before = timeline.find(row.reason(index));
  const label = before && picture.labels[before.row.label[before.index]];
  const other = before && `${label.name} on ${before.track.name}, ${shortPlace(label)}, from ` +
                              timeText(before.row.start[before.index]);
  if (cause) return `waited ${timeText(row.wait[index] / 1000)} for ${cause}${other ? `: ${other}` : ""}`;
  return other ? `did not wait; it follows ${other}` : "";
}

function showChain(holder, timeline, picture, steps, onStep) {
  holder.hidden = !steps.length;
  holder.replaceChildren();
  if (!steps.length) return;
  const [last, first] = [steps[0], steps[steps.length - 1]];
  const name = picture.labels[last.place.row.label[last.place.index]].name;
  const folded = foldChain(steps, picture.labels);
  const span = last.to - first.from;
  const table = element("table");
  headings(table, ">from", "time in the chain", "instruction", "lane", "line", "why it did not start earlier");
  for (const entry of folded.slice(0, MAX_STEPS)) {
    const gap = notDrawn(timeline, entry.from, entry.to);
    const {row, index} = entry.wait;
    const row_ = addRow(table, [
      number(timeText(entry.from)),
      meter((entry.to - entry.from) / timeline.total, timeText(entry.to - entry.from)),
      entry.label.name + (entry.count > 1 ? ` × ${entry.count}` : ""), entry.track.name, shortPlace(entry.label),
      (picture.causes[row.cause[index]] || (row.reason(index) < 0 ? "it is the first" : "its turn")) +
          (gap > 0 ? `; ${timeText(gap)} of iterations not drawn` : ""),
    ]);
    row_.addEventListener("click", () => onStep(entry));
  }
  const close = element("button", {type: "button", title: "back to all slices"}, "close");
  close.addEventListener("click", () => onStep(null));
  holder.append(
      element("h3", {}, `What ${name} at ${timeText(last.from)} had to wait for `, close),
      element("p", {class: "hint"},
              `${steps.length} instructions, each let in by the one below it, from ${timeText(first.from)} to ` +
                  `${timeText(last.to)}: it ends earlier only when one of them takes less. ` +
                  barsText(timeline.total)),
      element("div", {class: "steps"}, table));
  if (folded.length > MAX_STEPS) {
    const rest = folded[MAX_STEPS - 1].from - first.from;
    holder.append(element("p", {class: "hint"},
                          `${folded.length - MAX_STEPS} earlier steps, ${timeText(rest)} of ${timeText(span)}.`));
  }
}
