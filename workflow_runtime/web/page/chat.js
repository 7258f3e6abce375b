// The chat page: joins the composer, the conversation and the runs to the server's routes.

import { Api } from "./api.js";
import { hasEnded, statusLabel } from "./cards.js";
import { askKey, askSession, confirm, showReport } from "./dialogs.js";
import { byId } from "./dom.js";
import { Runs } from "./runs.js";
import { Timeline } from "./timeline.js";

const slug = document.body.dataset.skill;
const SESSION_KEY = `workflow-runtime.session.${slug}`;
const VALID_SESSION = /^[A-Za-z0-9._-]{1,128}$/;
const ANSWER_WITHIN_MS = 120_000;
const TURN_WITHIN_MS = 900_000;

const session = {
  get: () => localStorage.getItem(SESSION_KEY),
  set(id) {
    if (id === session.get()) return;
    localStorage.setItem(SESSION_KEY, id);
    showSession();
  },
};
const api = new Api({ slug, session, askKey });
const timeline = new Timeline(byId("timeline"));
const runs = new Runs({
  api,
  actions: { confirm, report: showReport, failed: showProblem },
  onCard(card) {
    timeline.addCard(card);
    showEmpty();
  },
  onEnded(envelope) {
    announce(`Workflow ${envelope.name || ""} ended: ${statusLabel(envelope.status)}.`);
    awaitAnswer(Date.parse(envelope.updated_at), ANSWER_WITHIN_MS, "The workflow has ended; its answer is coming.");
  },
});

let sending = false;

// --- sending ---------------------------------------------------------------------------------------

const input = byId("message");

async function send(text) {
  setSending(true);
  hideNotice();
  const question = timeline.addLive("user", text);
  showEmpty();
  timeline.scrollToEnd();
  setActivity("Thinking…");
  const turn = { answer: null, problem: null };
  try {
    const heardTheEnd = await api.stream(text, (name, data) => onEvent(turn, name, data));
    turn.answer?.flush();
    if (!heardTheEnd) await followOnServer();
    else await settle(turn);
  } catch (error) {
    if (turn.answer) await followOnServer();
    else takeBack(question, text, error);
  } finally {
    setSending(false);
    if (!awaiting) setActivity("");
  }
}

function onEvent(turn, name, data) {
  const answer = () => (turn.answer ??= timeline.addLive("assistant", ""));
  if (name === "session") session.set(data.session_id);
  else if (name === "delta") {
    setActivity("");
    answer().append(data.text);
  } else if (name === "tool_start") answer().toolStarted(data.name);
  else if (name === "tool_end") answer().toolEnded(data.name, data.status);
  else if (name === "workflow") runs.see(data);
  else if (name === "done") {
    answer().buffer = data.response;
    answer().flush();
    announce(`Answer: ${data.response}`);
  } else if (name === "error") turn.problem = data;
}

// What is stored is the truth: a turn's pieces give way to it.
async function settle(turn) {
  try {
    const history = await api.history();
    timeline.setHistory(history);
    timeline.dropLive();
    const told = history.messages.at(-1)?.error;
    if (turn.problem && !told) showProblem({ problem: turn.problem });
    else if (turn.problem) announce(turn.problem.detail);
  } catch (error) {
    showProblem(turn.problem ? { problem: turn.problem } : error);
  }
}

async function followOnServer() {
  showNotice("The connection was lost", "The turn goes on at the server; its answer will appear here.");
  await awaitAnswer(Number.POSITIVE_INFINITY, TURN_WITHIN_MS, "Waiting for the answer…");
  timeline.dropLive();
}

function takeBack(question, text, error) {
  timeline.dropLive();
  question.element.remove();
  if (!input.value) input.value = text;
  resize();
  showEmpty();
  showProblem(error);
}

// --- answers that come by themselves ---------------------------------------------------------------

let awaiting = null;

// Read the history until an answer from after *since* (server time in ms) is there. Infinity stands
// for the answer to the last question.
function awaitAnswer(since, within, text) {
  const until = Date.now() + within;
  if (awaiting) {
    awaiting.since = Math.max(awaiting.since, since);
    awaiting.until = Math.max(awaiting.until, until);
    return awaiting.done;
  }
  awaiting = { since, until };
  setActivity(text);
  awaiting.done = pollHistory().finally(() => {
    awaiting = null;
    if (!sending) setActivity("");
  });
  return awaiting.done;
}

async function pollHistory() {
  for (let delay = 500; Date.now() < awaiting.until; delay = Math.min(3000, delay * 1.3)) {
    try {
      const history = await api.history();
      const before = timeline.messages.size;
      timeline.setHistory(history);
      if (isAnswered(history.messages)) {
        if (timeline.messages.size > before) announce(`Answer: ${history.messages.at(-1).text}`);
        hideNotice();
        return;
      }
    } catch (error) {
      if (error.problem?.status && error.problem.status < 500) return showProblem(error);
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
  showNotice("No answer yet", "Send a message to ask what came out, or reload the page later.");
}

function isAnswered(messages) {
  const last = messages.at(-1);
  if (awaiting.since === Number.POSITIVE_INFINITY) return last?.role === "assistant";
  return messages.some((message) => message.role === "assistant" && Date.parse(message.at) >= awaiting.since);
}

// --- what the page says ----------------------------------------------------------------------------

function setSending(value) {
  sending = value;
  byId("send").disabled = value;
  byId("conversation").setAttribute("aria-busy", String(value));
}

function setActivity(text) {
  timeline.keepingPlace(() => {
    byId("activity").textContent = text;
    byId("activity").hidden = !text;
  });
}

function announce(text) {
  byId("announcer").textContent = text;
}

function showEmpty() {
  byId("empty").hidden = !timeline.isEmpty;
}

function showNotice(title, text) {
  byId("notice-title").textContent = title;
  byId("notice-text").textContent = text;
  byId("notice").hidden = false;
}

function hideNotice() {
  byId("notice").hidden = true;
}

function showProblem(error) {
  const problem = error.problem ?? { title: "Something went wrong", detail: error.message };
  const parts = [problem.detail, problem.fix];
  if (problem.correlation_id) parts.push(`Correlation id: ${problem.correlation_id}`);
  showNotice(problem.title ?? "The request failed", parts.filter(Boolean).join(" "));
}

function showSession() {
  const id = session.get();
  byId("session-short").textContent = id ? `${id.slice(0, 8)}${id.length > 8 ? "…" : ""}` : "new";
}

// A fresh page is the simplest way to leave nothing of another session behind.
function changeSession(id) {
  if (id) localStorage.setItem(SESSION_KEY, id);
  else localStorage.removeItem(SESSION_KEY);
  location.reload();
}

function resize() {
  input.style.height = "auto";
  input.style.height = `${Math.min(input.scrollHeight, 200)}px`;
}

// --- start -----------------------------------------------------------------------------------------

function listen() {
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text || sending) return;
    input.value = "";
    resize();
    send(text);
  });
  input.addEventListener("input", resize);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId("composer").requestSubmit();
  });
  byId("empty").addEventListener("click", (event) => {
    if (!event.target.matches(".example")) return;
    input.value = event.target.textContent;
    resize();
    input.focus();
  });
  byId("notice-close").addEventListener("click", hideNotice);
  byId("new-session").addEventListener("click", () => changeSession(null));
  byId("session-button").addEventListener("click", async () => {
    const id = await askSession(session.get(), (value) => VALID_SESSION.test(value));
    if (id) changeSession(id);
  });
}

async function resume() {
  const [history] = await Promise.all([api.history(), runs.load()]);
  timeline.setHistory(history);
  timeline.scrollToEnd();
  const last = history.messages.at(-1);
  const openSince = last?.role === "user" ? Date.parse(last.at) : Number.NaN;
  if (Date.now() - openSince < TURN_WITHIN_MS) {
    awaitAnswer(Number.POSITIVE_INFINITY, TURN_WITHIN_MS, "Waiting for the answer…");
  }
  for (const { envelope } of runs.cards.values()) {
    const ended = hasEnded(envelope) ? Date.parse(envelope.updated_at) : Number.NaN;
    const answered = history.messages.some((m) => m.role === "assistant" && Date.parse(m.at) >= ended);
    if (Date.now() - ended < ANSWER_WITHIN_MS && !answered) {
      awaitAnswer(ended, ANSWER_WITHIN_MS, "The workflow has ended; its answer is coming.");
    }
  }
}

async function start() {
  listen();
  showSession();
  if (session.get()) {
    setActivity("Loading the conversation…");
    try {
      await resume();
    } catch (error) {
      showProblem(error);
    }
    if (!awaiting) setActivity("");
  }
  showEmpty();
  input.focus({ preventScroll: true });
}

start();
