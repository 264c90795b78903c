// The roofline: operations per second over operations per byte of HBM, both axes logarithmic.
function drawRoofline(holder, roof) {
  const WIDTH = 520, HEIGHT = 230, LEFT = 62, BOTTOM = 34, TOP = 12, RIGHT = 14;
  if (!roof.flops || !roof.hbm_bytes) {
    holder.append(element("p", {class: "hint"},
                          "Without matmuls, or without HBM, there is no point to draw; the table tells the rest."));
    return;
  }
  const svgElement = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const xs = [roof.intensity, roof.ridge], ys = [roof.achieved_flops_per_ns, roof.peak_flops_per_ns];
  const lowX = Math.min(...xs) / 8, highX = Math.max(...xs) * 8;
  const lowY = Math.min(...ys, lowX * roof.peak_bytes_per_ns) / 2, highY = Math.max(...ys) * 3;
  const x = (v) => LEFT + Math.log(v / lowX) / Math.log(highX / lowX) * (WIDTH - LEFT - RIGHT);
  const y = (v) => HEIGHT - BOTTOM - Math.log(v / lowY) / Math.log(highY / lowY) * (HEIGHT - BOTTOM - TOP);
  const svg = svgElement("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Roofline"});
  for (let power = Math.ceil(Math.log10(lowX)); 10 ** power <= highX; ++power) {
    svg.append(svgElement("line", {x1: x(10 ** power), x2: x(10 ** power), y1: TOP, y2: HEIGHT - BOTTOM,
                                   stroke: "var(--grid)"}));
    svg.append(svgElement("text", {x: x(10 ** power), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle"},
                          String(+(10 ** power).toPrecision(1))));
  }
  for (let power = Math.ceil(Math.log10(lowY)); 10 ** power <= highY; ++power) {
    svg.append(svgElement("line", {x1: LEFT, x2: WIDTH - RIGHT, y1: y(10 ** power), y2: y(10 ** power),
                                   stroke: "var(--grid)"}));
    const teraflops = 10 ** power / 1000;
    svg.append(svgElement("text", {x: LEFT - 5, y: y(10 ** power) + 4, "text-anchor": "end"},
                          `${+teraflops.toPrecision(1)} T`));
  }
  const roofPath = [[lowX, lowX * roof.peak_bytes_per_ns], [roof.ridge, roof.peak_flops_per_ns],
                    [highX, roof.peak_flops_per_ns]];
  svg.append(svgElement("polyline", {points: roofPath.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), fill: "none",
                                     stroke: "var(--bar)", "stroke-width": 2}));
  svg.append(svgElement("circle", {id: "roofline-point", cx: x(roof.intensity), cy: y(roof.achieved_flops_per_ns), r: 5,
                                   fill: "var(--strong)"}));
  svg.append(svgElement("text", {x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "text-anchor": "middle"},
                        "flop per byte of HBM"));
  svg.append(svgElement("text", {x: 4, y: TOP - 1}, "flop/s"));
  holder.append(svg);
}
