// A walk through a graph: buttons, a native slider and Play move between steps that were all
// computed in the kernel. Boxes keep what earlier steps wrote under them.

const SVG = "http://www.w3.org/2000/svg";
const PLAY_EVERY = 1400; // milliseconds; long enough to read a sentence
const PILL = 26; // the sizes of widgets/blocks.py
const LINE = 13;
const TRAY = { cell: 11, inset: 7, title: "kept for backward" };
const SHRINK = 0.8; // a graph is drawn this small at most before the next denser one is taken
const GROW = 1.25; // and this large at most
const DRAWN = ["forward", "backward", "expected", "local", "kept"]; // what a box shows, by step
const NUDGE = 0.1; // what a key or four pixels add to a number

function drawing(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

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

const said = (text) => ({ "aria-label": text });

// The cells of a tensor: hue for the sign, depth for the size, the number in it or, if small, on top of it.
function drawGrid(cells, [width, height, numbers], x, y, lying) {
  const group = drawing("g");
  cells.texts.forEach((row, i) => row.forEach((text, j) => {
    const [across, along] = lying && cells.upright ? [i, j] : [j, i];
    const [left, top, tint] = [x + across * width, y + along * height, cells.tints[i][j]];
    const cell = drawing("g", { class: "bbh-cell", "data-at": `${i},${j}` });
    const frame = drawing("rect", { x: left, y: top, width, height });
    if (tint) frame.style.fill = `color-mix(in srgb, var(--${tint < 0 ? "below" : "above"}) ${Math.round(Math.abs(tint) * 0.45)}%, var(--bg))`;
    cell.append(frame, drawing("title", {}, text));
    if (numbers) cell.append(drawing("text", { x: left + width / 2, y: top + height / 2 + 4 }, text));
    else if (tint < 0) cell.append(drawing("path", { d: `M${left + 3} ${top + height / 2}H${left + width - 3}` }));
    group.append(cell);
  }));
  return group;
}

function drawTensor(kind, cells, size, x, y, lying, bare) {
  const group = drawing("g", { class: `bbh-tensor bbh-${kind}`, "data-kind": kind });
  const rows = lying && cells.upright ? 1 : cells.texts.length;
  group.append(drawGrid(cells, size, x, y + LINE, lying));
  if (bare) return group;
  group.append(drawing("text", { class: "bbh-caption", x, y: y + LINE - 3 }, cells.caption));
  if (cells.note) group.append(drawing("text", { class: "bbh-caption", x, y: y + 2 * LINE + rows * size[1] - 2 }, cells.note));
  return group;
}

function drawKept({ cells, words, state }, down, x, y) {
  const group = drawing("g", { class: `bbh-kept bbh-kept-${state}` });
  const [rows, columns] = [cells.texts.length, Math.max(...cells.texts.map((row) => row.length))];
  const beside = rows > 2;
  const [left, top] = beside ? [x + columns * TRAY.cell + 6, y] : [x, y + rows * TRAY.cell];
  group.append(drawGrid(cells, [TRAY.cell, TRAY.cell, false], x, y));
  const written = down ? [words[0].split(":")[0]] : words;
  written.forEach((text, i) => group.append(drawing("text", { class: "bbh-caption", x: left, y: top + (i + 1) * LINE - 2 }, text)));
  return group;
}

function drawBox(box, size, down) {
  const { key, label, kind, x, y, width, slots, tray } = box;
  const group = drawing("g", { class: `bbh-box bbh-${kind}`, "data-box": key });
  const rounded = kind === "leaf" || kind === "end" ? PILL / 2 : 5;
  const name = drawing("text", { class: "bbh-label", x: x + width / 2, y: y + PILL / 2 + 4.5 }, label);
  group.append(drawing("rect", { class: "bbh-pill", x, y, width, height: PILL, rx: rounded }), name);
  const held = drawing("g");
  group.append(held);
  let before = [];
  const show = (step, frame) => {
    const now = DRAWN.map((name) => frame[name][key]);
    group.classList.toggle("bbh-on", key === step.box);
    group.classList.toggle("bbh-wrong", key === step.box && Boolean(step.wrong));
    if (now.every((one, i) => one === before[i])) return;
    before = now;
    const content = Object.fromEntries(DRAWN.map((name, i) => [name, now[i]]));
    held.replaceChildren();
    if (tray && content.kept) {
      const [left, top, w, h] = tray;
      held.append(drawing("rect", { class: "bbh-tray", x: x + left, y: y + top, width: w, height: h, rx: 4 }));
      held.append(drawing("text", { class: "bbh-caption", x: x + left + TRAY.inset, y: y + top + LINE - 1 }, TRAY.title));
    }
    for (const [which, index, left, top, bare] of slots) {
      const one = content[which]?.[index];
      if (!one) continue;
      held.append(which === "kept" ? drawKept(one, down, x + left, y + top) : drawTensor(which, one, size, x + left, y + top, down, bare));
    }
  };
  return { group, show };
}

function drawGraph({ width, height, boxes, lines, cell, down }, label) {
  const svg = drawing("svg", { role: "img", ...said(label), viewBox: `0 0 ${width} ${height}`, style: `max-width: ${Math.round(width * (down ? 1 : GROW))}px` });
  const drawnLines = lines.map((line) => ({ line, group: drawLine(line) }));
  const cuts = new Set(boxes.filter((box) => box.kind === "cut").map((box) => box.key));
  for (const { line, group } of drawnLines) group.classList.toggle("bbh-from-cut", cuts.has(line.from));
  const drawnBoxes = boxes.map((box) => drawBox(box, cell, down));
  svg.append(...drawnLines.map((one) => one.group), ...drawnBoxes.map((one) => one.group));
  const show = (step, frame) => {
    for (const { line, group } of drawnLines) {
      const here = step.line && step.line[0] === line.from && step.line[1] === line.to;
      group.classList.toggle("bbh-on", Boolean(here));
      group.classList.toggle("bbh-reverse", Boolean(here && step.back));
    }
    for (const one of drawnBoxes) one.show(step, frame);
  };
  return { svg, show };
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

function makeControls() {
  const button = (text, more = {}) => element("button", { type: "button", ...KEEP_KEYS, ...more }, ...signed(text));
  const id = uniqueId("slider");
  const back = button("◀ Back");
  const next = button("Next ▶");
  const play = button("▷ Play");
  const range = { id, type: "range", min: 0, max: 0, step: 1, value: 0, ...KEEP_KEYS };
  const slider = element("input", range);
  const bar = element("div", { class: "bbh-bar", role: "group", "aria-label": "Steps" });
  bar.append(back, next, play, element("label", { for: id }, "Step"), slider);
  return { bar, back, next, play, slider };
}

// Which number is moved, and by what: a native select and a native slider. Cells can be dragged as well.
function makeMover(model) {
  const moves = () => model.get("moves") ?? [];
  const [pickId, rangeId] = [uniqueId("number"), uniqueId("value")];
  const select = element("select", { id: pickId, ...KEEP_KEYS });
  const range = element("input", { id: rangeId, type: "range", step: NUDGE, ...KEEP_KEYS });
  const value = element("span", { class: "bbh-value", "aria-hidden": "true" });
  const bar = element("div", { class: "bbh-bar bbh-mover", role: "group", "aria-label": "Move a number" });
  bar.append(element("label", { for: pickId }, "Move"), select, element("label", { for: rangeId }, "to"), range, value);
  const written = (number) => String(Number(number.toPrecision(4))).replace("-", "−");
  const say = (number) => {
    value.textContent = written(number);
    range.setAttribute("aria-valuetext", written(number));
  };
  const chosen = () => moves()[select.selectedIndex];
  const send = (number) => {
    const [, , , of, index] = chosen();
    say(number);
    model.set("move", [of, index, number]);
    model.save_changes();
  };
  const follow = () => {
    const labels = moves().map((one) => one[5]);
    bar.hidden = !labels.length;
    if (bar.hidden) return;
    if (labels.join() !== [...select.options].map((one) => one.textContent).join()) {
      const before = select.value;
      select.replaceChildren(...labels.map((label) => element("option", {}, label)));
      select.value = labels.includes(before) ? before : labels[0];
    }
    const number = chosen()[6];
    const far = Math.max(4, Math.ceil(2 * Math.abs(number)));
    if (!(Number(range.max) >= Math.abs(number)) || !range.max) [range.min, range.max] = [-far, far];
    if (document.activeElement !== range) range.value = number;
    range.setAttribute("aria-label", `Move ${select.value} to`);
    say(number);
  };
  range.addEventListener("input", () => send(Number(range.value)));
  select.addEventListener("change", () => {
    range.max = "";
    follow();
    range.value = chosen()[6];
  });
  const found = (cell) => {
    const [box, tensor] = [cell.closest("[data-box]"), cell.closest("[data-kind]")];
    return moves().findIndex(([of, kind, at]) => of === box?.dataset.box && kind === tensor?.dataset.kind && at.join() === cell.dataset.at);
  };
  const drag = (frame) => {
    const mark = () => {
      for (const cell of frame.querySelectorAll(".bbh-tensor .bbh-cell")) cell.classList.toggle("bbh-movable", found(cell) >= 0);
    };
    frame.addEventListener("pointerdown", (event) => {
      const cell = event.target.closest(".bbh-movable");
      const index = cell ? found(cell) : -1;
      if (index < 0) return;
      event.preventDefault();
      select.selectedIndex = index;
      select.dispatchEvent(new Event("change"));
      const [from, start] = [event.clientX, moves()[index][6]];
      const move = ({ clientX }) => send(Math.round((start + ((clientX - from) / 4) * NUDGE) * 1000) / 1000);
      const end = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
    });
    return mark;
  };
  return { bar, follow, drag };
}

function render({ model, el }) {
  const steps = () => model.get("steps");
  const title = model.get("title");
  const { bar, back, next, play, slider } = makeControls();
  const mover = makeMover(model);
  const status = element("p", { class: "bbh-status", role: "status", "aria-live": "polite" });
  const details = element("div", { class: "bbh-details" });
  const frame = element("div", { class: "bbh-graph", ...KEEP_KEYS });
  const mark = mover.drag(frame);
  // Groups and no landmarks: a notebook may show several walks of one name.
  const section = element("div", { class: "bbh bbh-steps", role: "group", "aria-label": unmarked(title) });
  const legend = element("p", { class: "bbh-legend" });
  section.append(element("p", { class: "bbh-title" }, ...marked(title)), bar, status, frame, mover.bar, legend, details);
  el.replaceChildren(section);

  let graph = null;
  let known = null;
  let frames = [];
  // With numbers in the cells as long as that fits, a little smaller if need be; else without.
  const choose = () => {
    const graphs = model.get("graphs");
    const wide = (section.clientWidth || Infinity) - 4;
    const fits = (numbers, shrink) =>
      graphs.find(({ width, cell, down }) => !down && cell[2] === numbers && width * shrink <= wide);
    return fits(true, 0.92) ?? fits(true, SHRINK) ?? fits(false, SHRINK) ?? graphs[graphs.length - 1];
  };
  const build = () => {
    const chosen = choose();
    const text = JSON.stringify(chosen);
    if (text !== known) {
      known = text;
      graph = drawGraph(chosen, `Graph of ${unmarked(title)}. The sentence above says what this step shows.`);
      frame.replaceChildren(graph.svg);
    }
    const every = DRAWN.map((name) => [name, accumulate(steps(), name)]);
    frames = steps().map((_, i) => Object.fromEntries(every.map(([name, all]) => [name, all[i]])));
    slider.max = Math.max(0, steps().length - 1);
    const cut = chosen.boxes.some(({ kind }) => kind === "cut") ? " ✕ and dots: numbers without a history." : "";
    const bare = chosen.boxes.some(({ slots }) => slots.some((slot) => slot[4])) ? " A grid without a word is a gradient." : "";
    const drags = (model.get("moves") ?? []).length ? " Drag an outlined number to move it." : "";
    const local = steps().some((step) => step.local) ? " × local: the slope by which a gradient on its way back is multiplied." : "";
    legend.textContent = `Blue is above 0, orange below, deeper is larger.${local}${bare}${drags}${cut}`;
    mover.follow();
    draw(current());
  };
  // A graph that is higher than its frame can be scrolled, and follows the step.
  const reveal = () => {
    const tall = frame.scrollHeight > frame.clientHeight + 1;
    frame.toggleAttribute("tabindex", tall);
    if (!tall) return;
    frame.tabIndex = 0;
    const [here, seen] = [frame.querySelector(".bbh-on"), frame].map((one) => one?.getBoundingClientRect());
    if (here) frame.scrollTop += (here.top + here.bottom - seen.top - seen.bottom) / 2;
  };
  const draw = (index) => {
    const step = steps()[index];
    const last = steps().length - 1;
    section.dataset.step = index;
    section.classList.toggle("bbh-has-wrong", Boolean(step.wrong));
    slider.value = index;
    graph.show(step, frames[index]);
    mark();
    reveal();
    const place = `Step ${index + 1} of ${last + 1}`;
    slider.setAttribute("aria-valuetext", `${place}: ${step.phase}`);
    const sign = step.wrong ? "✗ " : "";
    const warnings = step.warnings ?? [];
    const heard = warnings.map((text) => element("span", { class: "bbh-unseen" }, " ⚠ ", ...marked(text)));
    status.replaceChildren(element("strong", {}, `${place} · ${sign}${step.phase}. `), ...marked(step.text), ...heard);
    details.replaceChildren(...(step.tables ?? []).map(makeTable));
    if (warnings.length) details.prepend(element("ul", { class: "bbh-warnings" }, ...warnings.map((text) => element("li", {}, "⚠ ", ...marked(text)))));
    back.setAttribute("aria-disabled", String(index === 0));
    next.setAttribute("aria-disabled", String(index === last));
  };
  const current = () => Math.max(0, Math.min(steps().length - 1, Number(model.get("step"))));
  const go = (index) => {
    const to = Math.max(0, Math.min(steps().length - 1, index));
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
    play.replaceChildren(...signed("▷ Play"));
  };
  const start = () => {
    play.replaceChildren(...signed("❙❙ Pause"));
    if (current() === steps().length - 1) go(0);
    timer = setInterval(() => {
      go(current() + 1);
      if (current() === steps().length - 1) stop();
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
  const heard = { "change:step": follow, "change:steps": build, "change:graphs": build, "change:moves": build };
  for (const [event, hear] of Object.entries(heard)) model.on(event, hear);
  build();
  const watch = new ResizeObserver(build); // only once it is shown it has a width
  watch.observe(section);
  return () => {
    stop();
    watch.disconnect();
    for (const [event, hear] of Object.entries(heard)) model.off(event, hear);
  };
}

export default { render };
