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

