// What a run waits for that a person can give: answers to its questions, and events. Each has one form,
// which stays as it is, with what was typed and where the focus is, for as long as the same is awaited.

import { clock } from "./cards.js";
import { element } from "./dom.js";

const MAX_SHOWN = 4000;

export class QuestionForms {
  // `decide(question, {approved, comment})` and `sendEvent(wait, payload)` resolve to what went wrong,
  // or to an empty text.
  constructor({ decide, sendEvent }) {
    this.decide = decide;
    this.sendEvent = sendEvent;
    this.forms = new Map();
    this.element = element("div", { className: "questions" });
  }

  show(waits) {
    const forms = new Map();
    for (const wait of waits) {
      const key = `${wait.task} ${wait.digest ?? wait.event}`;
      forms.set(key, this.forms.get(key) ?? (wait.digest ? this.question(wait) : this.event(wait)));
    }
    for (const [key, form] of this.forms) if (!forms.has(key)) form.remove();
    for (const [key, form] of forms) if (!this.forms.has(key)) this.element.append(form);
    this.forms = forms;
  }

  question(wait) {
    const { task, message, tool, args, until } = wait;
    const comment = field(`Comment on ${task}`, "Comment (optional)");
    const decide = (approved) => () => this.decide(wait, { approved, comment: comment.value });
    return element("section", { className: "question", "aria-label": `Question of task ${task}` },
      element("p", { className: "question-top" },
        element("strong", {}, "A decision is needed"), element("code", {}, task)),
      element("p", { className: "question-text" }, message ?? ""),
      tool ? element("p", { className: "question-tool" }, "Tool ", element("code", {}, tool)) : null,
      args === undefined ? null : element("pre", {}, element("code", {}, pretty(args))),
      until ? element("p", { className: "question-until" }, `Without an answer until ${clock(until)} it counts as not approved.`) : null,
      comment,
      ...buttons([
        { label: "Approve", className: "primary", doing: "Approving…", done: "Approved.", act: decide(true) },
        { label: "Reject", className: "quiet danger-text", doing: "Rejecting…", done: "Rejected.", act: decide(false) },
      ]));
  }

  event(wait) {
    const { task, event, until } = wait;
    const payload = field(`Payload of ${event}`, "Payload as JSON (optional)");
    const send = () => {
      try {
        return this.sendEvent(wait, payload.value.trim() ? JSON.parse(payload.value) : null);
      } catch {
        return "The payload is not JSON.";
      }
    };
    return element("section", { className: "question event", "aria-label": `Event of task ${task}` },
      element("p", { className: "question-top" },
        element("strong", {}, `Waiting for event ${event}`), element("code", {}, task)),
      until ? element("p", { className: "question-until" }, `Until ${clock(until)}.`) : null,
      payload,
      ...buttons([{ label: "Send event", className: "quiet", doing: "Sending…", done: "Sent.", act: send }]));
  }
}

function field(label, placeholder) {
  const made = element("input", { type: "text", maxLength: 500, placeholder });
  made.setAttribute("aria-label", label);
  return made;
}

// A row of buttons of which one is pressed, and a line that says what became of it.
function buttons(choices) {
  const said = element("p", { className: "question-said", role: "status" });
  const made = choices.map(({ label, className }) => element("button", { type: "button", className }, label));
  choices.forEach(({ doing, done, act }, place) => made[place].addEventListener("click", async () => {
    for (const button of made) button.disabled = true;
    said.textContent = doing;
    const wrong = await act();
    said.textContent = wrong || done;
    if (wrong) for (const button of made) button.disabled = false;
  }));
  return [element("div", { className: "question-buttons" }, ...made), said];
}

function pretty(value) {
  const text = JSON.stringify(value, null, 2);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
