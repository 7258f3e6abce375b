// The conversation as it is shown: messages in the server's order, each run's card after the answer
// that started it, and at the end the turn that is going on.

import { element } from "./dom.js";
import { markdown } from "./markdown.js";

const NEAR_END = 120;

export class Timeline {
  constructor(place) {
    this.place = place;
    this.messages = new Map();
    this.cards = [];
    this.live = [];
    this.truncated = false;
  }

  get isEmpty() {
    return !this.messages.size && !this.cards.length && !this.live.length;
  }

  // Show what the server has stored; a message that is on the page already keeps its element.
  setHistory({ messages, truncated }) {
    const kept = new Map();
    for (const stored of messages) {
      const key = `${stored.role} ${stored.at} ${stored.text.length}`;
      kept.set(key, this.messages.get(key) ?? this.adopt(stored) ?? new Message(stored));
    }
    this.messages = kept;
    this.truncated = truncated;
    this.layout();
  }

  adopt(stored) {
    const found = this.live.find((message) => message.role === stored.role && message.text.trim() === stored.text.trim());
    if (!found) return null;
    this.live = this.live.filter((message) => message !== found);
    found.settle(stored);
    return found;
  }

  addLive(role, text) {
    const message = new Message({ role, text });
    message.around = (change) => this.keepingPlace(change);
    this.live.push(message);
    this.layout();
    return message;
  }

  dropLive() {
    this.live = [];
    this.layout();
  }

  addCard(card) {
    this.cards.push(card);
    this.layout();
  }

  layout() {
    this.keepingPlace(() => {
      const wanted = this.ordered();
      if (this.truncated) wanted.unshift(this.olderNote ??= element("p", { className: "activity" }, "Older messages are not shown."));
      const keep = new Set(wanted);
      for (const child of [...this.place.children]) if (!keep.has(child)) child.remove();
      wanted.forEach((child, index) => {
        if (this.place.children[index] !== child) this.place.insertBefore(child, this.place.children[index] ?? null);
      });
    });
  }

  ordered() {
    const stored = [...this.messages.values()];
    const after = stored.map(() => []);
    const first = [];
    const atEnd = [];
    const byTime = [...this.cards].sort((a, b) => time(a.envelope.created_at) - time(b.envelope.created_at));
    for (const card of byTime) {
      const place = placeOf(card.envelope, stored);
      (place < 0 ? first : place < stored.length ? after[place] : atEnd).push(card.element);
    }
    return [...first, ...stored.flatMap((message, index) => [message.element, ...after[index]]),
      ...this.live.map((message) => message.element), ...atEnd];
  }

  // Somebody who reads further up is not pulled down.
  keepingPlace(change) {
    const page = document.scrollingElement;
    const atEnd = page.scrollHeight - page.scrollTop - page.clientHeight < NEAR_END;
    change();
    if (atEnd) page.scrollTop = page.scrollHeight;
  }

  scrollToEnd() {
    const page = document.scrollingElement;
    page.scrollTop = page.scrollHeight;
  }
}

// The index of the message that a card stands after; the length stands for the end.
function placeOf(envelope, messages) {
  const created = time(envelope.created_at);
  if (Number.isNaN(created)) return messages.length;
  const answer = messages.findIndex((m) => m.role === "assistant" && time(m.at) >= created);
  const next = messages.findIndex((m) => m.role === "user" && time(m.at) > created);
  // The answer to a question began the run; one without a question is about its end.
  const began = messages[answer - 1]?.role === "user";
  if (answer >= 0 && (next < 0 || answer < next)) return began ? answer : answer - 1;
  return next >= 0 ? next - 1 : messages.length;
}

function time(text) {
  return Date.parse(text ?? "");
}

export class Message {
  constructor({ role, text, at, error }) {
    this.role = role;
    this.body = element("div", { className: role === "user" ? "text" : "prose" });
    this.tools = element("ul", { className: "tools", hidden: true, "aria-label": "Tools" });
    this.element = element("article", { className: `message ${role}` },
      element("h3", { className: "unseen" }, role === "user" ? "You" : "Answer"), this.tools, this.body);
    this.settle({ text, at, error });
  }

  settle({ text, at, error }) {
    this.at = at;
    if (at) this.element.title = new Date(at).toLocaleString();
    this.element.classList.toggle("failed", Boolean(error));
    this.element.classList.toggle("streaming", this.role === "assistant" && !at);
    this.setText(text);
  }

  setText(text) {
    if (text === this.text) return;
    this.text = text;
    this.body.replaceChildren(this.role === "user" ? text : markdown(text));
  }

  // Many small pieces are drawn once per frame.
  append(text) {
    this.buffer = (this.buffer ?? this.text) + text;
    this.frame ??= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.around(() => this.setText(this.buffer ?? this.text));
  }

  toolStarted(name) {
    this.tools.hidden = false;
    this.tools.append(element("li", { className: "tool", "data-name": name, "data-status": "running" }, toolLabel(name)));
  }

  toolEnded(name, status) {
    const open = [...this.tools.children].find((tool) => tool.dataset.name === name && tool.dataset.status === "running");
    if (open) open.dataset.status = status;
  }
}

const TOOL_LABELS = {
  start_workflow: "Starting a workflow", get_workflow_status: "Looking at a workflow",
  list_workflows: "Listing workflows", cancel_workflow: "Canceling a workflow",
  terminate_workflow: "Terminating a workflow",
};

function toolLabel(name) {
  return TOOL_LABELS[name] ?? name;
}
