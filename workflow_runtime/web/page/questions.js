// What a run asks people: one form for each question, which stays as it is, with what was typed and
// where the focus is, for as long as the same thing is asked.

import { clock } from "./cards.js";
import { element } from "./dom.js";

const MAX_SHOWN = 4000;

export class QuestionForms {
  // `decide(question, {approved, comment})` resolves to what went wrong, or to an empty text.
  constructor(decide) {
    this.decide = decide;
    this.forms = new Map();
    this.element = element("div", { className: "questions" });
  }

  show(questions) {
    const forms = new Map();
    for (const question of questions) {
      const key = `${question.task} ${question.digest}`;
      forms.set(key, this.forms.get(key) ?? this.form(question));
    }
    for (const [key, form] of this.forms) if (!forms.has(key)) form.remove();
    for (const [key, form] of forms) if (!this.forms.has(key)) this.element.append(form);
    this.forms = forms;
  }

  form(question) {
    const { task, message, tool, args, until } = question;
    const comment = element("input", { type: "text", maxLength: 500, placeholder: "Comment (optional)" });
    comment.setAttribute("aria-label", `Comment on ${task}`);
    const said = element("p", { className: "question-said", role: "status" });
    const approve = element("button", { type: "button", className: "primary" }, "Approve");
    const reject = element("button", { type: "button", className: "quiet danger-text" }, "Reject");
    const buttons = [approve, reject];
    const answer = async (approved) => {
      for (const button of buttons) button.disabled = true;
      said.textContent = approved ? "Approving…" : "Rejecting…";
      const wrong = await this.decide(question, { approved, comment: comment.value });
      said.textContent = wrong || (approved ? "Approved." : "Rejected.");
      if (wrong) for (const button of buttons) button.disabled = false;
    };
    approve.addEventListener("click", () => answer(true));
    reject.addEventListener("click", () => answer(false));
    return element("section", { className: "question", "aria-label": `Question of task ${task}` },
      element("p", { className: "question-top" },
        element("strong", {}, "A decision is needed"), element("code", {}, task)),
      element("p", { className: "question-text" }, message ?? ""),
      tool ? element("p", { className: "question-tool" }, "Tool ", element("code", {}, tool)) : null,
      args === undefined ? null : element("pre", {}, element("code", {}, pretty(args))),
      until ? element("p", { className: "question-until" }, `Without an answer until ${clock(until)} it counts as not approved.`) : null,
      comment,
      element("div", { className: "question-buttons" }, approve, reject), said);
  }
}

function pretty(value) {
  const text = JSON.stringify(value, null, 2);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
