"""What an eye would complain of in a widget: a cut number, a broken word, a white card in the dark."""

from __future__ import annotations

# For each: the kind of fault, and the text or element that shows it.
LOOK = """([selector, dark]) => {
  const faults = [];
  const root = document.querySelector(selector);
  const whole = root.getBoundingClientRect();
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => rgba(colour).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const within = (a, b, by = 1) => a.left >= b.left - by && a.right <= b.right + by && a.top >= b.top - by && a.bottom <= b.bottom + by;
  const visible = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".bbh-unseen");
  const shade = (one) => (one instanceof SVGElement ? getComputedStyle(one).fill : getComputedStyle(one).backgroundColor);
  // The cell that a number stands in: around it, or drawn just before it.
  const cellOf = (text) => text.closest(".bbh-cell")?.querySelector("rect") ?? (text.previousElementSibling?.matches("rect.bbh-cell") ? text.previousElementSibling : null);
  // The painted thing under a text: its cell, pill or tray, else what is behind the drawing.
  const ground = (text) => {
    const own = cellOf(text) ?? text.parentElement.querySelector(":scope > rect:not(.bbh-row)");
    if (own && own.compareDocumentPosition(text) & 4 && within(text.getBoundingClientRect(), own.getBoundingClientRect(), 3)) return shade(own);
    for (let one = text.closest("svg").parentElement; one; one = one.parentElement) if (rgba(shade(one))[3]) return shade(one);
    return "white";
  };
  if (whole.right > innerWidth + 1) faults.push(`wider than the page: ${Math.round(whole.right)}`);
  const texts = [...root.querySelectorAll("svg text")].filter((one) => visible(one) && one.textContent.trim());
  const boxes = texts.map((one) => one.getBoundingClientRect());
  texts.forEach((text, i) => {
    const said = text.textContent;
    if (!within(boxes[i], text.closest("svg").getBoundingClientRect())) faults.push(`outside of the drawing: ${said}`);
    const frame = text.matches(".bbh-label") ? text.parentElement.querySelector(".bbh-pill") : cellOf(text);
    if (frame && !within(boxes[i], frame.getBoundingClientRect())) faults.push(`outside of its box: ${said}`);
    if (contrast(getComputedStyle(text).fill, ground(text)) < 4.5) faults.push(`hard to read: ${said}`);
    if (boxes[i].height < 9) faults.push(`too small to read: ${said}`);
    for (let j = 0; j < i; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 4) faults.push(`on each other: ${texts[j].textContent} | ${said}`);
    }
  });
  for (const one of root.querySelectorAll("*")) {
    if (!visible(one) || one.closest("svg") && one.tagName !== "rect") continue;
    const box = one.getBoundingClientRect();
    if (!one.closest("svg") && box.width && !within(box, { ...whole.toJSON(), top: -1e6, bottom: 1e6 }, 2)) faults.push(`sticks out: ${one.tagName} ${one.textContent.slice(0, 30)}`);
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth && getComputedStyle(one).overflowX !== "visible") faults.push(`cut off: ${one.tagName} ${one.textContent.slice(0, 30)}`);
    if (one.matches("input, button, select, option") || box.width * box.height < 900) continue;
    const [, , , opaque] = rgba(shade(one));
    if (opaque > 200 && (dark ? light(shade(one)) > 0.35 : light(shade(one)) < 0.3)) faults.push(`${dark ? "white" : "dark"} card: ${one.tagName} ${one.getAttribute("class")}`);
  }
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest("svg, select, pre") && visible(node.parentElement)) {
      for (const word of node.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
        if (Math.max(...tops) - Math.min(...tops) > 4 && !/[-–—/]/.test(word[0])) faults.push(`broken word: ${word[0]}`);
      }
    }
  }
  return [...new Set(faults)];
}"""

# As wide as the output of a cell in JupyterLab, its file list open, on a screen of 1300 and of 900 pixels.
OUTPUT_WIDTHS = {1300: 868, 900: 468}
MARGINS = 48  # of the static player's page
TALLEST = 760  # what is left of 900 pixels under JupyterLab's bars and a cell of two lines


def faults(page, dark: bool, selector: str = ".bbh") -> list[str]:
    """What is wrong to the eye in the first widget of a page; [] if nothing is."""
    return page.evaluate(LOOK, [selector, dark])
