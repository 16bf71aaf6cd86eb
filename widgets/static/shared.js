// Helpers that stand before every widget's own module (see widgets/live.py).

// On every focusable element itself: JupyterLab's shortcuts (x cuts a cell, d d deletes one) look at
// the element that has the focus, not at what is around it.
const KEEP_KEYS = { "data-lm-suppress-shortcuts": "true" };

let lastId = 0;
const uniqueId = (name) => `bbh-${name}-${++lastId}-${Math.random().toString(36).slice(2, 8)}`;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// "`x` is *not* saved" → <code>x</code>, " is ", <em>not</em>, " saved". Nodes, never innerHTML.
// The same rules as in autograder/markup.py.
function marked(text) {
  return text.split("`").flatMap((part, i) => (i % 2 ? element("code", {}, part) : emphasised(part)));
}

function emphasised(text) {
  return text.split(/\*(\S(?:[^*]*\S)?)\*/).map((part, i) => (i % 2 ? element("em", {}, part) : part));
}

// The same text without its marks, for the status line.
function unmarked(text) {
  return marked(text).map((part) => part.textContent ?? part).join("");
}

// The code that a question is about: heard with the question, wherever in it the focus lands.
function shownCode(question, code) {
  const id = uniqueId("code");
  question.setAttribute("aria-describedby", id);
  return element("pre", { id }, element("code", {}, code));
}

// "▷ Play": the sign is seen, and only the word is read aloud.
function signed(text) {
  return text.split(/(\s*[◀▶▷❙]+\s*)/).map((part, i) => (i % 2 ? element("span", { "aria-hidden": "true" }, part) : part));
}
