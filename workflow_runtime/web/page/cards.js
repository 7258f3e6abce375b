// A card shows one run from its status envelope. It knows no HTTP: who holds it feeds it envelopes.

import { element } from "./dom.js";
import { drawGraph } from "./graph.js";
import { QuestionForms } from "./questions.js";
import { resultOf } from "./results.js";

const ENDED = new Set(["Completed", "CompletedWithErrors", "Failed", "Canceled", "Terminated"]);
const LABELS = { CompletedWithErrors: "Completed with errors", Canceling: "Canceling" };
const MAX_ROWS = 100;
const TASK_LABELS = {
  pending: "Pending", running: "Running", waiting: "Waiting", completed: "Done", failed: "Failed",
  skipped: "Skipped", not_run: "Not run", canceled: "Canceled", outcome_unknown: "Outcome unknown",
};
const COUNTS = [
  ["running", "running"], ["failed", "failed"], ["skipped", "skipped"],
  ["canceled", "canceled"], ["outcome_unknown", "with unknown outcome"],
];

export function hasEnded(envelope) {
  return ENDED.has(envelope.status);
}

// When its last task ended, in ms: the instance itself ends later, after the skill was told.
export function endOf(envelope) {
  const ends = (envelope.tasks ?? []).map((task) => Date.parse(task.ended_at ?? "")).filter((time) => !Number.isNaN(time));
  return ends.length ? Math.max(...ends) : Date.parse(envelope.updated_at);
}

// A run that was ended from outside, or broke, could not tell its skill.
export function isTold(envelope) {
  return envelope.status !== "Terminated" && envelope.error?.code !== "orchestration_failed";
}

export function statusLabel(status) {
  return LABELS[status] ?? status;
}

export class RunCard {
  // `actions` has `cancel(envelope)`, `rerun(envelope)`, `decide(envelope, question, answer)`,
  // `sendEvent(envelope, wait, payload)` and `report(html, title)`.
  constructor(envelope, actions) {
    this.actions = actions;
    this.envelope = {};
    this.shownResult = undefined;
    this.rows = new Map();
    this.build();
    this.update(envelope);
  }

  build() {
    this.title = element("h3");
    this.pill = element("span", { className: "pill" });
    this.facts = element("p", { className: "facts" });
    this.barDone = element("span", { className: "done" });
    this.barFailed = element("span", { className: "failed" });
    this.bar = element("div", { className: "bar", role: "progressbar", "aria-valuemin": "0" },
      this.barDone, this.barFailed);
    this.notes = element("div", { className: "notes" });
    this.questions = new QuestionForms({
      decide: (question, answer) => this.actions.decide(this.envelope, question, answer),
      sendEvent: (wait, payload) => this.actions.sendEvent(this.envelope, wait, payload),
    });
    this.graph = element("details", { className: "graph", hidden: true }, element("summary", {}, "Graph"), element("div", { className: "scroll" }));
    this.taskList = element("ul", { className: "task-list" });
    this.tasks = element("details", { className: "tasks", open: true },
      element("summary", {}, "Tasks"), this.taskList);
    this.result = element("div", { className: "result" });
    this.id = element("code", { className: "run-id", title: "Workflow id" });
    this.cancelButton = element("button", { type: "button", className: "quiet danger-text" }, "Cancel workflow");
    this.cancelButton.addEventListener("click", () => this.actions.cancel(this.envelope));
    this.rerunButton = element("button", { type: "button", className: "quiet", hidden: true }, "Run again");
    this.rerunButton.addEventListener("click", () => this.actions.rerun(this.envelope));
    this.trouble = element("p", { className: "trouble", hidden: true });
    this.element = element("article", { className: "card" },
      element("div", { className: "card-top" }, this.title, this.pill),
      this.facts, this.bar, this.questions.element, this.notes, this.tasks, this.graph, this.result, this.trouble,
      element("div", { className: "card-bottom" }, this.id, this.rerunButton, this.cancelButton));
  }

  // Lists bring envelopes without tasks and outputs: what is known already stays.
  update(envelope) {
    const endedNow = hasEnded(envelope) && !hasEnded(this.envelope);
    this.envelope = { ...this.envelope, ...envelope };
    if (!envelope.waiting_for) this.envelope.waiting_for = [];
    const { status, name, workflow_id: id } = this.envelope;
    this.element.dataset.status = status;
    this.element.setAttribute("aria-label", `Workflow ${name || id}: ${statusLabel(status)}`);
    this.title.textContent = name || "Workflow";
    this.pill.textContent = this.waitsForPeople() ? "Waiting for you" : statusLabel(status);
    this.id.textContent = id;
    if (endedNow) this.tasks.open = false;
    this.cancelButton.hidden = hasEnded(this.envelope) || status === "Canceling";
    this.rerunButton.hidden = !hasEnded(this.envelope) || status === "Completed";
    this.showProgress();
    this.showNotes();
    this.showTasks();
    this.showGraph();
    this.showResult();
    this.setTrouble("");
  }

  // Nothing runs, and somebody is asked.
  waitsForPeople() {
    const { status, progress, waiting_for: waits } = this.envelope;
    return status === "Running" && !progress?.running && waits.some((wait) => wait.kind === "approval");
  }

  setTrouble(text) {
    this.trouble.textContent = text;
    this.trouble.hidden = !text;
  }

  // Called once a second while the run goes on, so that times move between two polls.
  tick() {
    this.showProgress();
    for (const { task, time } of this.rows.values()) time.textContent = duration(task);
  }

  showProgress() {
    const { progress, created_at: from } = this.envelope;
    const ended = hasEnded(this.envelope);
    const counts = progress ?? {};
    const total = counts.total ?? 0;
    const starting = !total && !ended ? ["Starting…"] : [];
    const parts = total ? [`${counts.completed ?? 0} of ${total} done`] : starting;
    for (const [key, label] of COUNTS) if (counts[key]) parts.push(`${counts[key]} ${label}`);
    const took = elapsed(from, ended ? endOf(this.envelope) : null);
    if (took) parts.push(ended ? `took ${took}` : took);
    this.facts.textContent = parts.join(" · ");
    const share = (count) => `${total ? (100 * (count ?? 0)) / total : 0}%`;
    this.barDone.style.width = share((counts.completed ?? 0) + (counts.skipped ?? 0));
    this.barFailed.style.width = share(counts.failed);
    this.bar.hidden = !total;
    this.bar.setAttribute("aria-valuemax", String(total));
    this.bar.setAttribute("aria-valuenow", String(counts.completed ?? 0));
    this.bar.setAttribute("aria-label", `Progress of ${this.envelope.name || "the workflow"}`);
  }

  showNotes() {
    const { waiting_for: waiting, error, status, hint, no_progress_for: quiet } = this.envelope;
    const waits = hasEnded(this.envelope) ? [] : waiting ?? [];
    this.questions.show(waits.filter(isForPeople));
    const made = waits.filter((wait) => !isForPeople(wait)).map(waitingNote);
    if (hint && !hasEnded(this.envelope)) made.push(element("p", { className: "note waiting" }, hint));
    if (quiet && !waits.length && !hasEnded(this.envelope)) {
      made.push(element("p", { className: "note waiting" }, `Nothing has happened for ${readable(quiet)}.`));
    }
    if (error) made.push(errorNote(error, status));
    this.notes.replaceChildren(...made);
  }

  showTasks() {
    const { tasks = [], tasks_omitted: omitted = 0 } = this.envelope;
    this.tasks.hidden = !tasks.length;
    const rows = new Map();
    for (const task of tasks.slice(0, MAX_ROWS)) {
      const row = this.rows.get(task.id) ?? taskRow(task.id);
      updateRow(row, task);
      rows.set(task.id, row);
    }
    this.rows = rows;
    const items = [...rows.values()].map((row) => row.item);
    const more = omitted + tasks.length - rows.size;
    if (more > 0) items.push(element("li", { className: "more" }, `and ${more} more`));
    const shown = this.taskList.children;
    if (items.length !== shown.length || items.some((item, index) => item !== shown[index])) {
      this.taskList.replaceChildren(...items);
    }
  }

  showGraph() {
    const { tasks = [], tasks_omitted: omitted = 0 } = this.envelope;
    const drawn = omitted ? null : drawGraph(tasks);
    this.graph.hidden = !drawn;
    if (drawn) this.graph.lastChild.replaceChildren(drawn);
  }

  showResult() {
    const { output } = this.envelope;
    const text = output === undefined || output === null ? "" : JSON.stringify(output);
    if (!hasEnded(this.envelope) || text === this.shownResult) return;
    this.shownResult = text;
    const title = `${this.envelope.name || "Workflow"}: report`;
    this.result.replaceChildren(...(text ? resultOf(output, title, this.actions.report) : []));
  }
}

function taskRow(id) {
  const [state, attempts, time, note] = ["state", "attempts", "time", "note"].map(
    (name) => element("span", { className: `task-${name}` }));
  const item = element("li", {},
    element("span", { className: "dot", "aria-hidden": "true" }),
    element("span", { className: "task-id" }, id), attempts, state, time, note);
  return { item, state, attempts, time, note };
}

function updateRow(row, task) {
  row.task = task;
  row.item.dataset.status = task.status;
  row.state.textContent = TASK_LABELS[task.status] ?? task.status;
  const attempts = task.attempts > 1 ? `attempt ${task.attempts}` : "";
  row.attempts.textContent = task.reused ? "reused" : attempts;
  row.time.textContent = duration(task);
  row.note.textContent = task.error?.message ?? task.reason?.replaceAll("_", " ") ?? "";
  row.note.hidden = !row.note.textContent;
}

function readable(duration) {
  return duration.replace(/^P/, "").replace("T", " ").replace("D", " d").replace("H", " h ").replace("M", " min ").replace("S", " s").trim();
}

function isForPeople(wait) {
  return Boolean(wait.digest || wait.event);
}

function waitingNote({ task, kind, message, until }) {
  const forWhat = kind && kind !== "timer" ? ` for ${kind}` : "";
  return element("p", { className: "note waiting" },
    element("strong", {}, `Waiting${forWhat}${until ? ` until ${clock(until)}` : ""}`),
    task ? element("code", {}, task) : null,
    message ? element("span", { className: "note-text" }, message) : null);
}

function errorNote(error, status) {
  const title = error.task ? `Task ${error.task} failed` : statusLabel(status);
  const code = [error.code, error.correlation_id].filter(Boolean).join(" · ");
  return element("p", { className: "note error" },
    element("strong", {}, title),
    element("span", { className: "note-text" }, error.message ?? ""),
    code ? element("code", { className: "note-code" }, code) : null);
}

function duration(task) {
  if (!task.started_at) return "";
  const open = task.status === "running" || task.status === "waiting";
  return open || task.ended_at ? elapsed(task.started_at, open ? null : task.ended_at) : "";
}

function elapsed(from, to) {
  const start = Date.parse(from ?? "");
  const end = typeof to === "string" ? Date.parse(to) : to ?? Date.now();
  if (Number.isNaN(start) || Number.isNaN(end)) return "";
  const seconds = Math.max(0, (end - start) / 1000);
  if (seconds < 10) return `${to ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

export function clock(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const soon = Math.abs(date.getTime() - Date.now()) < 12 * 3600 * 1000;
  return soon ? date.toLocaleTimeString() : date.toLocaleString();
}
