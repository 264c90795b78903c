// Rows of slices as typed arrays. Times are told in whole picoseconds, each start from the end before.
class Row {
  constructor(data, first) {
    const count = data.duration.length;
    this.first = first;  // number of its first slice among all
    this.count = count;
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    this.label = data.label;
    this.wait = data.wait;
    this.cause = data.cause;
    this.because = data.because;  // how far before it stands what let it start, in numbers of slices; 0: none
    this.critical = new Uint8Array(count);
    for (const i of data.critical) this.critical[i] = 1;
    let at = 0;
    for (let i = 0; i < count; ++i) {
      this.start[i] = (at += data.gap[i]) / 1000;
      this.end[i] = (at += data.duration[i]) / 1000;
    }
  }

  // The number of the slice that let slice `i` start; -1 when there is none.
  reason(i) { return this.because[i] ? this.first + i - this.because[i] : -1; }

  // The first slice that ends after `ns`; `count` when there is none.
  firstEndingAfter(ns) {
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > ns) high = middle; else low = middle + 1;
    }
    return low;
  }

  // The slice at `ns`, or within `slack` of it; -1 when there is none.
  at(ns, slack) {
    const i = this.firstEndingAfter(ns - slack);
    return i < this.count && this.start[i] <= ns + slack ? i : -1;
  }
}

function readTracks(picture) {
  let first = 0;
  return picture.tracks.map((track) => ({
    name: track.name,
    about: track.about,
    leftOut: track.left_out,
    rows: track.rows.map((data) => {
      const row = new Row(data, first);
      first += row.count;
      return row;
    }),
  }));
}
