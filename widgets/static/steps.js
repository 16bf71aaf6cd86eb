// A walk through a graph: buttons, a native slider and Play move between steps that were all
// computed in the kernel. Boxes keep what earlier steps wrote under them.

const SVG = "http://www.w3.org/2000/svg";
const PLAY_EVERY = 1400; // milliseconds; long enough to read a sentence
const LETTERS_BELOW = 20; // what fits under a box
const ROOM = 30; // pixels beside a box that is scrolled to

function drawing(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

const cut = (text) => (text.length > LETTERS_BELOW ? `${text.slice(0, LETTERS_BELOW - 1)}…` : text);

function drawLine({ points }) {
  const group = drawing("g", { class: "bbh-line" });
  const path = points.map(([x, y]) => `${x},${y}`).join(" ");
  const [[x0, y0], [x1, y1]] = points.slice(-2);
  const [sx0, sy0] = points[0];
  const [sx1, sy1] = points[1];
  group.append(
    drawing("polyline", { points: path, fill: "none" }),
    drawing("path", { class: "bbh-there", d: arrow(x1, y1, Math.atan2(y1 - y0, x1 - x0)) }),
    drawing("path", { class: "bbh-back", d: arrow(sx0, sy0, Math.atan2(sy0 - sy1, sx0 - sx1)) }),
  );
  return group;
}

function arrow(x, y, angle) {
  const at = (along, across) => {
    const px = x + along * Math.cos(angle) - across * Math.sin(angle);
    const py = y + along * Math.sin(angle) + across * Math.cos(angle);
    return `${px.toFixed(1)} ${py.toFixed(1)}`;
  };
  return `M${at(0, 0)} L${at(-10, 5)} L${at(-10, -5)} Z`;
}

function drawBox({ label, kind, x, y, width, height }) {
  const group = drawing("g", { class: `bbh-box bbh-${kind}` });
  const rounded = kind === "leaf" || kind === "end" ? height / 2 : 6;
  const frame = { x: x - width / 2, y: y - height / 2, width, height, rx: rounded };
  const below = y + height / 2;
  const forward = drawing("text", { class: "bbh-forward", x, y: below + 14 });
  const backward = drawing("text", { class: "bbh-backward", x, y: below + 29 });
  group.append(drawing("rect", frame), drawing("text", { class: "bbh-label", x, y: y + 5 }, label), forward, backward);
  return { group, forward, backward };
}

function drawGraph({ width, height, boxes, lines }, label) {
  const svg = drawing("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, width, height });
  const drawnLines = lines.map((line) => ({ line, group: drawLine(line) }));
  const cuts = new Set(boxes.filter((box) => box.kind === "cut").map((box) => box.key));
  for (const { line, group } of drawnLines) group.classList.toggle("bbh-from-cut", cuts.has(line.from));
  const drawnBoxes = boxes.map((box) => ({ box, ...drawBox(box) }));
  svg.append(...drawnLines.map((one) => one.group), ...drawnBoxes.map((one) => one.group));
  const show = (step, forward, backward) => {
    for (const { line, group } of drawnLines) {
      const here = step.line && step.line[0] === line.from && step.line[1] === line.to;
      group.classList.toggle("bbh-on", Boolean(here));
      group.classList.toggle("bbh-reverse", Boolean(here && step.back));
    }
    for (const drawn of drawnBoxes) {
      const key = drawn.box.key;
      drawn.group.classList.toggle("bbh-on", key === step.box);
      drawn.group.classList.toggle("bbh-wrong", key === step.box && Boolean(step.wrong));
      drawn.forward.textContent = cut(forward[key] ?? "");
      drawn.backward.textContent = cut(backward[key] ?? "");
    }
  };
  return { svg, show };
}

// Scroll sideways so far that a box is seen; a graph may be wider than its frame.
function reveal(frame, box) {
  if (!box || !frame.clientWidth) return;
  const [left, right] = [box.x - box.width / 2 - ROOM, box.x + box.width / 2 + ROOM];
  if (left < frame.scrollLeft) frame.scrollLeft = left;
  else if (right > frame.scrollLeft + frame.clientWidth) frame.scrollLeft = right - frame.clientWidth;
}

function makeTable({ caption, head, rows }) {
  const top = element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, cell)));
  const body = rows.map(([first, ...rest]) =>
    element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, top), element("tbody", {}, ...body));
}

// What earlier steps wrote, up to and with each step.
function accumulate(steps, name) {
  let all = {};
  return steps.map((step) => (all = { ...all, ...(step[name] ?? {}) }));
}

function makeControls(count) {
  const button = (text, more = {}) => element("button", { type: "button", ...KEEP_KEYS, ...more }, text);
  const id = uniqueId("slider");
  const back = button("◀ Back");
  const next = button("Next ▶");
  const play = button("▷ Play");
  const range = { id, type: "range", min: 0, max: Math.max(0, count - 1), step: 1, value: 0, ...KEEP_KEYS };
  const slider = element("input", range);
  const bar = element("div", { class: "bbh-bar", role: "group", "aria-label": "Steps" });
  bar.append(back, next, play, element("label", { for: id }, "Step"), slider);
  return { bar, back, next, play, slider };
}

function render({ model, el }) {
  let stopListening = () => {};
  const build = () => {
    stopListening();
    stopListening = fill(model, el);
  };
  build();
  model.on("change:steps", build);
  return () => {
    model.off("change:steps", build);
    stopListening();
  };
}

function fill(model, el) {
  const steps = model.get("steps");
  const title = model.get("title");
  const forward = accumulate(steps, "forward");
  const backward = accumulate(steps, "backward");
  const graph = drawGraph(model.get("graph"), `Graph of ${unmarked(title)}`);
  const { bar, back, next, play, slider } = makeControls(steps.length);
  const status = element("p", { class: "bbh-status", role: "status", "aria-live": "polite" });
  const details = element("div", { class: "bbh-details" });
  const scroll = { class: "bbh-graph", tabindex: "0", role: "group", "aria-label": "Graph, scrolls", ...KEEP_KEYS };
  // Groups and no landmarks: a notebook may show several walks of one name.
  const section = element("div", { class: "bbh bbh-steps", role: "group", "aria-label": unmarked(title) });
  const legend = element("p", { class: "bbh-legend" }, "Under the boxes: values upright, ", element("em", {}, "gradients in italics"), ".");
  if (model.get("graph").boxes.some(({ kind }) => kind === "cut")) legend.append(" ✕ and dots: numbers without a history.");
  const frame = element("div", scroll, graph.svg);
  section.append(element("p", { class: "bbh-title" }, ...marked(title)), bar, frame, legend, status, details);
  el.replaceChildren(section);

  const draw = (index) => {
    const step = steps[index];
    section.dataset.step = index;
    section.classList.toggle("bbh-has-wrong", Boolean(step.wrong));
    slider.value = index;
    graph.show(step, forward[index], backward[index]);
    reveal(frame, model.get("graph").boxes.find(({ key }) => key === step.box));
    const place = `Step ${index + 1} of ${steps.length}`;
    slider.setAttribute("aria-valuetext", `${place}: ${step.phase}`);
    const sign = step.wrong ? "✗ " : "";
    status.replaceChildren(element("strong", {}, `${place} · ${sign}${step.phase}. `), ...marked(step.text));
    const warnings = (step.warnings ?? []).map((text) => element("li", {}, "⚠ ", ...marked(text)));
    details.replaceChildren(...(step.tables ?? []).map(makeTable));
    if (warnings.length) details.prepend(element("ul", { class: "bbh-warnings" }, ...warnings));
    back.setAttribute("aria-disabled", String(index === 0));
    next.setAttribute("aria-disabled", String(index === steps.length - 1));
  };
  const current = () => Number(model.get("step"));
  const go = (index) => {
    const to = Math.max(0, Math.min(steps.length - 1, index));
    if (to !== current()) {
      model.set("step", to);
      model.save_changes();
    }
    draw(to);
  };

  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "▷ Play";
  };
  const start = () => {
    play.textContent = "❙❙ Pause";
    if (current() === steps.length - 1) go(0);
    timer = setInterval(() => {
      go(current() + 1);
      if (current() === steps.length - 1) stop();
    }, PLAY_EVERY);
  };
  const leave = (index) => {
    stop();
    go(index);
  };
  slider.addEventListener("input", () => leave(Number(slider.value)));
  back.addEventListener("click", () => leave(current() - 1));
  next.addEventListener("click", () => leave(current() + 1));
  play.addEventListener("click", () => (timer === null ? start() : stop()));

  const follow = () => draw(current());
  model.on("change:step", follow);
  draw(current());
  requestAnimationFrame(follow); // only now it has a width, and can be scrolled
  return () => {
    stop();
    model.off("change:step", follow);
  };
}

export default { render };
