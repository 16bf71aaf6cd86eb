// Diagrams at the place of a native slider. All frames were computed in the kernel.

const SVG = "http://www.w3.org/2000/svg";
const SIZE = { width: 340, height: 250, left: 52, right: 12, top: 12, bottom: 40 };
const CELL = { width: 46, height: 30, left: 56, top: 34 };

function drawing(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

const filled = (template, words) => template.replace(/\{(\d+)\}/g, (all, index) => words[index] ?? all);
const written = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

function ticks([low, high]) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(6)));
  return found;
}

// A shape for each style, so that nothing is told by colour alone.
function mark(style, x, y, r = 6) {
  const at = (points) => points.map(([dx, dy]) => `${x + dx},${y + dy}`).join(" ");
  const shapes = [
    () => drawing("circle", { cx: x, cy: y, r }),
    () => drawing("rect", { x: x - r + 1, y: y - r + 1, width: 2 * r - 2, height: 2 * r - 2 }),
    () => drawing("polygon", { points: at([[0, -r - 1], [r + 1, 0], [0, r + 1], [-r - 1, 0]]) }),
    () => drawing("polygon", { points: at([[0, -r - 1], [r + 1, r], [-r - 1, r]]) }),
  ];
  const made = shapes[style]();
  made.setAttribute("class", `bbh-mark bbh-s${style}`);
  return made;
}

function makePanel(panel, index) {
  const { width, height, left, right, top, bottom } = SIZE;
  const [x0, x1] = panel.x;
  const [y0, y1] = panel.y;
  const px = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const py = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
  const label = `${panel.title}: ${panel.up} over ${panel.across}. The table has the values.`;
  const svg = drawing("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, width, height });
  const clip = uniqueId("clip");
  const inside = { x: left, y: top, width: width - left - right, height: height - top - bottom };
  const area = drawing("clipPath", { id: clip });
  area.append(drawing("rect", { ...inside, x: left - 2, width: inside.width + 4 }));
  svg.append(area, drawing("rect", { class: "bbh-area", ...inside }));
  for (const at of ticks(panel.x)) {
    svg.append(drawing("path", { class: "bbh-rule", d: `M${px(at)} ${top}V${height - bottom}` }));
    svg.append(drawing("text", { x: px(at), y: height - bottom + 15, "text-anchor": "middle" }, written(at)));
  }
  for (const at of ticks(panel.y)) {
    svg.append(drawing("path", { class: "bbh-rule", d: `M${left} ${py(at)}H${width - right}` }));
    svg.append(drawing("text", { x: left - 6, y: py(at) + 4, "text-anchor": "end" }, written(at)));
  }
  svg.append(
    drawing("text", { x: left + inside.width / 2, y: height - 6, "text-anchor": "middle" }, panel.across),
    drawing("text", { transform: `translate(12 ${top + inside.height / 2}) rotate(-90)`, "text-anchor": "middle" }, panel.up),
  );
  const line = (curve) => drawing("path", {
    class: `bbh-curve bbh-s${curve.style}`,
    d: curve.pieces.map((piece) => piece.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("")
      + (piece.length === 1 ? "h0.1" : "")).join(""),
  });
  const fixed = drawing("g", { "clip-path": `url(#${clip})` });
  fixed.append(...panel.curves.map(line));
  const moving = drawing("g", { "clip-path": `url(#${clip})` });
  const marks = drawing("g");
  svg.append(fixed, moving, marks);
  const legend = element("ul", { class: "bbh-legend" });
  const show = (frame) => {
    const here = ([where]) => where === index;
    const more = frame.curves.filter(here).map(([, curve]) => curve);
    const lines = frame.lines.filter(here).map(([, ax, ay, bx, by]) =>
      drawing("path", { class: "bbh-straight", d: `M${px(ax)} ${py(ay)}L${px(bx)} ${py(by)}` }));
    moving.replaceChildren(...more.map(line), ...lines);
    const shown = frame.marks.filter(here).filter(([, , , y]) => y >= y0 && y <= y1);
    marks.replaceChildren(...shown.map(([, style, x, y]) => mark(style, px(x), py(y))));
    legend.replaceChildren(...[...panel.curves, ...more].map(sample));
  };
  return { node: element("figure", {}, element("figcaption", {}, panel.title), svg, legend), show };
}

function sample(curve) {
  const svg = drawing("svg", { "aria-hidden": "true", width: 40, height: 16, viewBox: "0 0 40 16" });
  svg.append(drawing("path", { class: `bbh-curve bbh-s${curve.style}`, d: "M1 8H39" }), mark(curve.style, 20, 8, 5));
  return element("li", {}, svg, " ", curve.label);
}

function makeGrid(grid) {
  const { width, height, left, top } = CELL;
  const all = { width: left + width * grid.columns.length + 4, height: top + height * grid.rows.length + 22 };
  const said = grid.rows.map((row, i) => `${row}: ${grid.texts[i].join(", ")}`);
  const label = `${grid.title}: ${grid.down} by ${grid.across}. ${said.join("; ")}.`;
  const svg = drawing("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${all.width} ${all.height}`, width: all.width, height: all.height });
  const largest = Math.max(1e-12, ...grid.values.flat().map(Math.abs));
  grid.columns.forEach((name, j) => svg.append(
    drawing("text", { x: left + width * (j + 0.5), y: top - 8, "text-anchor": "middle" }, name)));
  grid.values.forEach((row, i) => {
    svg.append(drawing("text", { x: left - 6, y: top + height * (i + 0.5) + 4, "text-anchor": "end" }, grid.rows[i]));
    row.forEach((value, j) => {
      const frame = { x: left + width * j, y: top + height * i, width, height };
      const strength = Math.round((45 * Math.abs(value)) / largest);
      const cell = drawing("rect", { class: "bbh-cell", ...frame });
      cell.style.fill = `color-mix(in srgb, var(--${value < 0 ? "tint-below" : "tint-above"}) ${strength}%, var(--bg))`;
      svg.append(cell, drawing("text", { x: frame.x + width / 2, y: frame.y + height / 2 + 4, "text-anchor": "middle" }, grid.texts[i][j]));
    });
  });
  const outline = drawing("rect", { class: "bbh-row", x: left, width: width * grid.columns.length, height });
  svg.append(
    outline,
    drawing("text", { x: left + (width * grid.columns.length) / 2, y: 12, "text-anchor": "middle" }, grid.across),
    drawing("text", { x: left, y: all.height - 6 }, `rows: ${grid.down}`),
  );
  const show = (frame) => {
    const one = frame.column >= 0;
    outline.style.visibility = frame.row < 0 || frame.row >= grid.rows.length ? "hidden" : "visible";
    outline.setAttribute("y", top + height * Math.max(0, frame.row));
    outline.setAttribute("x", left + (one ? width * frame.column : 0));
    outline.setAttribute("width", one ? width : width * grid.columns.length);
  };
  const style = `flex: 1 1 ${0.85 * all.width}px; max-width: ${all.width}px`; // two beside each other where it is narrow
  return { node: element("figure", { style }, element("figcaption", {}, grid.title), svg), show };
}

// Grids that change from place to place.
function makeChanging(sweep) {
  const node = element("div", { class: "bbh-figures" });
  const show = ({ grids }) => node.replaceChildren(...grids.map((grid) => makeGrid(grid)).map((made) => {
    made.show({ row: -1, column: -1 });
    return made.node;
  }));
  return sweep.frames.some(({ grids }) => grids.length) ? [{ node, show }] : [];
}

function makeTable(sweep) {
  if (!sweep.rows.length) return { node: "", show() {} };
  const top = element("tr", {}, ...sweep.head.map((cell) => element("th", { scope: "col" }, cell)));
  const cells = [];
  const body = sweep.rows.map(([first, ...rest]) => element("tr", {}, ...[first, ...rest].map((template, i) => {
    const cell = i ? element("td") : element("th", { scope: "row" });
    cells.push({ cell, template });
    return cell;
  })));
  const caption = element("caption", {}, `${sweep.name}, at this place of the slider`);
  const node = element("table", {}, caption, element("thead", {}, top), element("tbody", {}, ...body));
  const show = (frame) => {
    for (const { cell, template } of cells) cell.replaceChildren(...marked(filled(template, frame.words)));
  };
  return { node, show };
}

function render({ model, el }) {
  const title = model.get("title");
  const sweeps = () => model.get("sweeps");
  const pickId = uniqueId("pick");
  const slideId = uniqueId("slide");
  const select = element("select", { id: pickId, ...KEEP_KEYS });
  const slider = element("input", { id: slideId, type: "range", min: 0, step: 1, ...KEEP_KEYS });
  const place = element("span", { class: "bbh-place", "aria-hidden": "true" });
  const bar = element("div", { class: "bbh-bar", role: "group", "aria-label": "What to look at" });
  if (sweeps().length > 1) bar.append(element("label", { for: pickId }, model.get("pick")), select);
  bar.append(element("label", { for: slideId }, model.get("slide")), slider, place);
  const status = element("p", { class: "bbh-status", role: "status", "aria-live": "polite" });
  const figures = element("div", { class: "bbh-figures" });
  const details = element("div", { class: "bbh-details" });
  const section = element("div", { class: "bbh bbh-explorer", role: "group", "aria-label": unmarked(title) });
  section.append(element("p", { class: "bbh-title" }, ...marked(title)), bar, status, figures, details);
  el.replaceChildren(section);

  let built = null;
  const build = () => {
    const chosen = Math.max(0, Math.min(model.get("chosen"), sweeps().length - 1));
    const sweep = sweeps()[chosen];
    select.replaceChildren(...sweeps().map(({ name }, i) => element("option", { value: i }, name)));
    select.value = chosen;
    slider.max = sweep.frames.length - 1;
    const parts = [...sweep.panels.map(makePanel), ...sweep.grids.map(makeGrid), ...makeChanging(sweep)];
    const table = makeTable(sweep);
    figures.replaceChildren(...parts.map(({ node }) => node));
    details.replaceChildren(table.node);
    if (sweep.code) details.append(element("div", { class: "bbh-code" }, element("p", { class: "bbh-title" }, "The code"), element("pre", { tabindex: "0", role: "group", "aria-label": `Code of ${sweep.name}`, ...KEEP_KEYS }, element("code", {}, sweep.code))));
    built = { sweep, parts: [...parts, table], heard: "false" };
    draw();
  };
  const draw = () => {
    const { sweep, parts } = built;
    const index = Math.max(0, Math.min(model.get("position"), sweep.frames.length - 1));
    const frame = sweep.frames[index];
    section.dataset.position = index;
    slider.value = index;
    slider.setAttribute("aria-valuetext", frame.place);
    place.textContent = frame.place;
    for (const part of parts) part.show(frame);
    // Which one it is, is read aloud once, and not at every place of the slider.
    const name = element("span", { "aria-hidden": built.heard }, `${sweep.name}, `);
    built.heard = "true";
    status.replaceChildren(element("strong", {}, name, `${frame.place}: `), ...marked(filled(sweep.status, frame.words)));
  };
  const tell = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  slider.addEventListener("input", () => tell("position", Number(slider.value)));
  select.addEventListener("change", () => {
    const before = built.sweep.frames.length;
    const chosen = Number(select.value);
    const next = sweeps()[chosen];
    if (next.frames.length !== before) model.set("position", next.start);
    tell("chosen", chosen);
  });
  const rebuild = () => build();
  const follow = () => draw();
  build();
  model.on("change:position", follow);
  model.on("change:chosen", rebuild);
  model.on("change:sweeps", rebuild);
  return () => {
    model.off("change:position", follow);
    model.off("change:chosen", rebuild);
    model.off("change:sweeps", rebuild);
  };
}

export default { render };
