// A prediction: a question, each choice a button. A click or its letter answers; nothing here knows
// which is right, for why comes after the cell below was run.

const NOT_ANSWERED = -1;

function render({ model, el }) {
  const { prompt, code, choices } = model.get("question");
  const noted = element("p", { class: "bbh-noted", role: "status" });
  const rows = element("div", { class: "bbh-choices" });
  const buttons = choices.map((text, i) => {
    const letter = element("b", {}, String.fromCharCode(97 + i));
    return element("button", { type: "button", ...KEEP_KEYS }, letter, " ", ...marked(text));
  });
  rows.append(...buttons);

  const answer = (index) => {
    model.set("chosen", index);
    model.save_changes();
    draw();
  };
  buttons.forEach((button, i) => button.addEventListener("click", () => answer(i)));
  rows.addEventListener("keydown", (event) => {
    const index = event.key.length === 1 ? event.key.charCodeAt(0) - 97 : NOT_ANSWERED;
    if (event.ctrlKey || event.metaKey || event.altKey || !(index in buttons)) return;
    buttons[index].focus();
    answer(index);
  });

  const draw = () => {
    const chosen = model.get("chosen");
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    const letter = String.fromCharCode(97 + chosen);
    noted.textContent = chosen === NOT_ANSWERED ? "Predict: one click, or one letter." : `You say ${letter}. Now run the next cell.`;
  };
  model.on("change:chosen", draw);
  const id = uniqueId("prediction");
  const all = element("div", { class: "bbh bbh-prediction", role: "group", "aria-labelledby": id });
  all.append(element("p", { class: "bbh-asked", id }, ...marked(prompt)));
  if (code) all.append(shownCode(all, code));
  all.append(rows, noted);
  el.append(all);
  draw();
  return () => model.off("change:chosen", draw);
}

export default { render };
