// The timeline: tracks of slices, then curves, over one time axis that zooms and moves.
const GUTTER = 150, AXIS = 24, ROW = 17, TRACK_GAP = 7, CURVE = 46, MIN_SPAN_NS = 0.5;
const LABEL = 70;  // room for a word of the axis

class Timeline {
  constructor(canvas, picture, onChoose) {
    this.canvas = canvas;
    this.picture = picture;
    this.tracks = readTracks(picture);
    this.total = Math.max(picture.total_ns, 1e-3);
    this.view = this.firstView();
    this.onChoose = onChoose;
    this.onHover = () => {};
    this.hovered = null;    // {track, row, index}
    this.chosen = null;     // Set of labels to bring out, or null
    this.chain = [];        // steps of the chain to bring out
    this.onlyCritical = false;
    this.drawnSlices = 0;   // by the last draw
    this.colours = this.chooseColours();
    this.layOut();
    this.listen();
    this.draw();
  }

  // The names that take most time get a colour of their own.
  chooseColours() {
    const time = new Map(), leftOut = [];
    for (const track of this.tracks) {
      if (track.leftOut) {
        for (const row of track.rows) leftOut.push(...row.label.map((label) => [this.picture.labels[label].name, 8]));
        continue;
      }
      for (const row of track.rows) {
        for (let i = 0; i < row.count; ++i) {
          const name = this.picture.labels[row.label[i]].name;
          time.set(name, (time.get(name) || 0) + row.end[i] - row.start[i]);
        }
      }
    }
    const names = [...time.keys()].sort((a, b) => time.get(b) - time.get(a));
    return new Map([...names.map((name, i) => [name, Math.min(i, 8)]), ...leftOut]);
  }

  // All, unless iterations that are not drawn take most of it: then what comes before them.
  firstView() {
    const gaps = this.tracks.filter((track) => track.leftOut).flatMap((track) => track.rows);
    for (const row of gaps) {
      for (let i = 0; i < row.count; ++i) {
        if (row.end[i] - row.start[i] > this.total / 2 && row.start[i] > 0) return [0, 1.1 * row.start[i]];
      }
    }
    return [0, this.total];
  }

  layOut() {
    let y = AXIS;
    this.places = [];  // {y, row, track}
    for (const track of this.tracks) {
      track.y = y;
      for (const row of track.rows) {
        this.places.push({y, row, track});
        y += ROW;
      }
      y += TRACK_GAP;
    }
    this.curvesTop = y;
    this.height = y + CURVE * this.picture.curves.length + 4;
    this.canvas.style.height = `${this.height}px`;
    this.measure();
  }

  measure() {
    const scale = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth || 800;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.readColours();
  }

  // Asking the style sheet for each slice would take longer than drawing it.
  readColours() {
    const style = getComputedStyle(document.documentElement);
    const known = new Map();
    this.colour = (name) => {
      if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
      return known.get(name);
    };
  }

  x(ns) { return GUTTER + (ns - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - GUTTER); }
  ns(x) { return this.view[0] + (x - GUTTER) / (this.width - GUTTER) * (this.view[1] - this.view[0]); }

  setView(from, to) {
    const span = Math.min(Math.max(to - from, MIN_SPAN_NS), this.total);
    const start = Math.min(Math.max(from, 0), this.total - span);
    this.view = [start, start + span];
    this.drawSoon();
  }
  zoom(factor, x) {
    const at = this.ns(Math.max(x, GUTTER));
    this.setView(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }
  showAll() { this.setView(0, this.total); }
  // Moves to where a span can be seen, and closer when it would be narrower than a word.
  reveal(from, to) {
    const length = to - from;
    const span = Math.max(1.1 * length, Math.min(this.view[1] - this.view[0], 20 * length));
    if (from < this.view[0] || to > this.view[1] || span < this.view[1] - this.view[0]) {
      this.setView((from + to - span) / 2, (from + to + span) / 2);
    }
  }

  drawSoon() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    const c = this.context;
    this.drawnSlices = 0;
    c.fillStyle = this.colour("back");
    c.fillRect(0, 0, this.width, this.height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.drawAxis(c);
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, this.width - GUTTER, this.height);
    c.clip();
    for (const place of this.places) this.drawRow(c, place);
    this.picture.curves.forEach((curve, i) => this.drawCurve(c, curve, this.curvesTop + i * CURVE));
    this.drawChain(c);
    this.drawArrow(c);
    c.restore();
    this.drawNames(c);
  }

  drawAxis(c) {
    const span = this.view[1] - this.view[0];
    // The shortest of 1, 2, 5, 10 … that leaves room for the words.
    const least = span * LABEL / Math.max(LABEL, this.width - GUTTER);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999);
    c.textAlign = "left";
    for (let t = Math.ceil(this.view[0] / step) * step; t <= this.view[1]; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      c.strokeStyle = this.colour("grid");
      c.beginPath();
      c.moveTo(x, AXIS - 6);
      c.lineTo(x, this.height);
      c.stroke();
      c.fillStyle = this.colour("soft");
      if (x + LABEL <= this.width + 20) c.fillText(timeText(Math.round(t * 1000) / 1000), x + 3, AXIS / 2);
    }
  }

  drawNames(c) {
    c.textAlign = "left";
    c.fillStyle = this.colour("text");
    for (const track of this.tracks) c.fillText(track.name, 8, track.y + ROW / 2, GUTTER - 16);
    this.picture.curves.forEach((curve, i) => {
      const y = this.curvesTop + i * CURVE;
      c.fillStyle = this.colour("text");
      c.fillText(curve.name, 8, y + 14, GUTTER - 16);
      c.fillStyle = this.colour("soft");
      const text = curve.unit.startsWith("GB/s") ? (value) => String(+value.toPrecision(3)) : bytesText;
      c.fillText(`peak ${text(this.largest(curve))} of ${text(curve.limit)}`, 8, y + 27, GUTTER - 16);
      c.fillText(curve.unit, 8, y + 40, GUTTER - 16);
    });
  }

  // Slices narrower than a pixel share it: the next one looked at is the first that ends beyond the pixel, so the
  // work is bounded by the width, not by the number of slices.
  drawRow(c, {y, row}) {
    const [from, to] = this.view;
    const pixel = (to - from) / (this.width - GUTTER);
    let i = row.firstEndingAfter(from);
    while (i < row.count && row.start[i] < to) {
      const x = this.x(row.start[i]), width = this.x(row.end[i]) - x;
      this.drawSlice(c, row, i, x, y, Math.max(width, 1));
      i = width < 1 ? Math.max(i + 1, row.firstEndingAfter(row.start[i] + pixel)) : i + 1;
    }
  }

  drawSlice(c, row, i, x, y, width, inChain) {
    const label = row.label[i], name = this.picture.labels[label].name;
    const faint = this.chain.length
        ? !inChain
        : (this.onlyCritical && !row.critical[i]) || (this.chosen && !this.chosen.has(label));
    this.drawnSlices += 1;
    c.globalAlpha = faint ? 0.15 : 1;
    c.fillStyle = this.colour(`c${this.colours.get(name)}`);
    c.fillRect(x, y + 1, width > 3 ? width - 0.5 : width, ROW - 2);
    if (row.critical[i]) {
      c.fillStyle = this.colour("strong");
      c.fillRect(x, y + ROW - 4, width, 3);
    }
    if (width > 58) {
      c.fillStyle = this.colour("back");
      c.fillText(name, Math.max(x, GUTTER) + 3, y + ROW / 2, width - 6);
    }
    if (this.hovered && this.hovered.row === row && this.hovered.index === i) {
      c.strokeStyle = this.colour("text");
      c.strokeRect(x, y + 0.5, width, ROW - 1);
    }
    c.globalAlpha = 1;
  }

  // The slices of the chain above the faint ones, joined in their order. Steps that end before the pixel of the last
  // one drawn add nothing.
  drawChain(c) {
    let next = null, lines = 0;
    for (const {place, from} of this.chain) {
      const x = this.x(from), width = Math.max(this.x(place.row.end[place.index]) - x, 1);
      if (next && (next.x < GUTTER || next.x - x < 0.5 && next.y === place.y)) continue;
      if (x < this.width) {
        this.drawSlice(c, place.row, place.index, x, place.y, width, true);
        if (next && next.y !== place.y && ++lines < 2000) {
          this.drawLink(c, Math.min(x + width, next.x), place.y, next.x, next.y);
        }
      }
      next = {x, y: place.y};
    }
  }
  drawLink(c, x0, y0, x1, y1) {
    const bend = Math.min(20, Math.max(4, (x1 - x0) / 2));
    c.strokeStyle = this.colour("text");
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x0, y0 + ROW / 2);
    c.bezierCurveTo(x0 + bend, y0 + ROW / 2, x1 - bend, y1 + ROW / 2, x1, y1 + ROW / 2);
    c.stroke();
    c.lineWidth = 1;
  }

  // One bar per pixel: the largest value that the curve has there.
  drawCurve(c, curve, top) {
    const base = top + CURVE - 6, room = CURVE - 12;
    const most = this.largest(curve) || 1;
    const points = curve.points, end = this.x(this.total);
    let next = this.firstPointAfter(points, this.view[0]);
    let value = next > 0 ? points[next - 1][1] : 0;
    c.fillStyle = this.colour("bar");
    c.globalAlpha = 0.4;
    for (let x = GUTTER; x < Math.min(this.width, end); ++x) {
      const to = this.ns(x + 1);
      let largest = value;
      for (; next < points.length && points[next][0] < to; ++next) {
        value = points[next][1];
        largest = Math.max(largest, value);
      }
      if (largest > 0) c.fillRect(x, base - largest / most * room, 1, largest / most * room);
    }
    c.globalAlpha = 1;
    if (curve.limit && curve.limit <= most) {
      const limit = base - curve.limit / most * room;
      c.strokeStyle = this.colour("strong");
      c.setLineDash([4, 4]);
      c.beginPath();
      c.moveTo(GUTTER, limit);
      c.lineTo(this.width, limit);
      c.stroke();
      c.setLineDash([]);
    }
  }
  firstPointAfter(points, ns) {
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] > ns) high = middle; else low = middle + 1;
    }
    return low;
  }
  largest(curve) {
    curve.largest ??= curve.points.reduce((most, point) => Math.max(most, point[1]), 0);
    return curve.largest;
  }

  // From what the hovered slice waited for to where it starts.
  drawArrow(c) {
    const {row, index} = this.hovered || {};
    const from = row && this.find(row.reason(index));
    if (!from) return;
    const to = this.places.find((place) => place.row === row);
    this.drawLink(c, this.x(from.row.end[from.index]), from.y, this.x(row.start[index]), to.y);
  }

  // The slice with a number among all.
  find(slice) {
    if (!(slice >= 0)) return null;
    const place = this.places.find(({row}) => slice >= row.first && slice < row.first + row.count);
    return place && {...place, index: slice - place.row.first};
  }

  // The track or curve whose name is under a point of the canvas.
  laneAt(x, y) {
    if (x >= GUTTER) return null;
    const place = this.places.find((place) => y >= place.y && y < place.y + ROW);
    return place ? place.track : this.picture.curves[Math.floor((y - this.curvesTop) / CURVE)] || null;
  }

  // The slice under a point of the canvas.
  sliceAt(x, y) {
    const place = this.places.find((place) => y >= place.y && y < place.y + ROW);
    if (!place || x < GUTTER) return null;
    const index = place.row.at(this.ns(x), (this.view[1] - this.view[0]) / (this.width - GUTTER));
    return index < 0 ? null : {track: place.track, row: place.row, index};
  }

  hover(x, y) {
    const found = this.sliceAt(x, y);
    const same = found && this.hovered && found.row === this.hovered.row && found.index === this.hovered.index;
    this.hovered = found;
    if (!same) this.drawSoon();
    return found;
  }

  choose(labels) {
    this.chosen = labels && labels.size ? labels : null;
    this.drawSoon();
  }

  chooseChain(steps) {
    this.chain = steps;
    this.drawSoon();
  }

  listen() {
    const canvas = this.canvas;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x] = at(event);
      if (event.shiftKey) this.pan(event.deltaY || event.deltaX);
      else this.zoom(Math.exp(event.deltaY * 0.0015), x);
    }, {passive: false});
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = {x: at(event)[0], moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (drag) {
        if (Math.abs(x - drag.x) > 3) drag.moved = true;
        if (drag.moved) {
          canvas.classList.add("dragging");
          this.pan(drag.x - x);
          drag.x = x;
        }
      }
      this.onHover(this.hover(x, y) || this.laneAt(x, y), event);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.onChoose(this.sliceAt(...at(event)));
      drag = null;
      canvas.classList.remove("dragging");
    });
    canvas.addEventListener("pointerleave", (event) => {
      this.hovered = null;
      this.onHover(null, event);
      this.drawSoon();
    });
    canvas.addEventListener("dblclick", () => this.showAll());
    canvas.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => {
      this.measure();
      this.drawSoon();
    });
  }

  pan(pixels) {
    const shift = pixels / (this.width - GUTTER) * (this.view[1] - this.view[0]);
    this.setView(this.view[0] + shift, this.view[1] + shift);
  }

  key(event) {
    const middle = (this.width + GUTTER) / 2;
    const actions = {
      "+": () => this.zoom(0.7, middle), "=": () => this.zoom(0.7, middle), "-": () => this.zoom(1 / 0.7, middle),
      ArrowLeft: () => this.pan(-60), ArrowRight: () => this.pan(60), Home: () => this.showAll(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
