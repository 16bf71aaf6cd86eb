// The quiz: one fieldset a question, native radio buttons, an explanation under the checked choice.
// Arrow keys only move between choices; Enter or the button answers, so that reading with the
// keyboard gives nothing away.

const NOT_ANSWERED = -1;

function unseal(sealed) {
  const bytes = Uint8Array.from(atob(sealed), (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

function verdictOf(right) {
  return right ? "✓ Right." : "✗ Not quite.";
}

function makeQuestion({ prompt, code, choices }, number, onAnswer) {
  const name = uniqueId("question");
  const radios = choices.map((_, i) => element("input", { type: "radio", name, value: i, ...KEEP_KEYS }));
  const rows = choices.map((text, i) => {
    const words = element("span", {}, ...marked(text));
    return element("div", {}, element("label", { class: "bbh-choice" }, radios[i], words));
  });
  const button = element("button", { type: "button", ...KEEP_KEYS }, "Check my answer");
  const legend = element("legend", {}, `${number}. `, ...marked(prompt));
  const frame = element("fieldset", {}, legend);
  if (code) frame.append(shownCode(frame, code));
  frame.append(...rows, button);

  const answer = () => onAnswer(radios.findIndex((radio) => radio.checked));
  button.addEventListener("click", answer);
  for (const radio of radios) {
    radio.addEventListener("keydown", (event) => {
      if (event.key === "Enter") answer();
    });
  }

  const explain = (index, [right, why]) => {
    for (const old of frame.querySelectorAll(".bbh-why")) old.remove();
    for (const radio of radios) radio.removeAttribute("aria-describedby");
    const id = uniqueId("why");
    const verdict = element("strong", {}, verdictOf(right));
    const note = { class: "bbh-why", id, "data-verdict": right ? "right" : "wrong" };
    rows[index].append(element("p", note, verdict, " ", ...marked(why)));
    radios[index].checked = true;
    radios[index].setAttribute("aria-describedby", id);
  };
  return { frame, explain };
}

function render({ model, el }) {
  const questions = model.get("questions");
  const answers = unseal(model.get("sealed"));
  const score = element("p", { class: "bbh-score" });
  const status = element("p", { class: "bbh-unseen", role: "status" });
  let shown = questions.map(() => NOT_ANSWERED);

  const onAnswer = (question, index) => {
    if (index === NOT_ANSWERED) {
      status.textContent = `Question ${question + 1}: choose an answer first.`;
      return;
    }
    const chosen = [...model.get("chosen")];
    chosen[question] = index;
    model.set("chosen", chosen);
    model.save_changes();
    draw();
    const [right, why] = answers[question][index];
    const verdict = `Question ${question + 1}: ${verdictOf(right)}`;
    status.textContent = `${verdict} ${unmarked(why)} ${score.textContent}`;
  };
  const made = questions.map((question, i) => makeQuestion(question, i + 1, (index) => onAnswer(i, index)));

  const draw = () => {
    const chosen = model.get("chosen");
    chosen.forEach((index, i) => {
      if (index !== NOT_ANSWERED && index !== shown[i]) made[i].explain(index, answers[i][index]);
    });
    shown = [...chosen];
    const answered = chosen.filter((index) => index !== NOT_ANSWERED).length;
    const right = chosen.filter((index, i) => index !== NOT_ANSWERED && answers[i][index][0]).length;
    score.textContent = `${answered} of ${questions.length} answered, ${right} right.`;
  };

  model.on("change:chosen", draw);
  // A group and no landmark: a notebook may show several quizzes.
  const all = element("div", { class: "bbh bbh-quiz", role: "group", "aria-label": "Quiz" });
  all.append(score, ...made.map((question) => question.frame), status);
  el.append(all);
  draw();
  return () => model.off("change:chosen", draw);
}

export default { render };
