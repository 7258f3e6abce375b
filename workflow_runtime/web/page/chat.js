// The chat page: joins the composer, the conversation and the runs to the server's routes.

import { Api } from "./api.js";
import { endOf, hasEnded, isTold, statusLabel } from "./cards.js";
import { askKey, askSession, confirm, showReport } from "./dialogs.js";
import { byId } from "./dom.js";
import { Runs } from "./runs.js";
import { Timeline } from "./timeline.js";

const ANSWER_IS_COMING = "The workflow has ended; its answer is coming.";
const slug = document.body.dataset.skill;
const SESSION_KEY = `workflow-runtime.session.${slug}`;
const VALID_SESSION = /^[A-Za-z0-9._-]{1,128}$/;
const TURN_WITHIN_MS = 900_000;
const LONGEST_PAUSE_MS = 4000;

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
    if (isTold(envelope)) awaitAnswer(endOf(envelope), ANSWER_IS_COMING);
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
    setActivity(awaiting?.text ?? "");
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

// Reads may overtake each other: an older one never replaces what a newer one brought.
const reads = { begun: 0, shown: 0 };

async function refresh() {
  const read = reads.begun += 1;
  const history = await api.history();
  if (read > reads.shown) {
    reads.shown = read;
    timeline.setHistory(history);
  }
  return history;
}

// What is stored is the truth: a turn's pieces give way to it.
async function settle(turn) {
  try {
    const history = await refresh();
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
  await awaitAnswer(TO_THE_QUESTION, "Waiting for the answer…");
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

// Stands for the answer to the last question, where others have the time at which a run ended.
const TO_THE_QUESTION = Number.POSITIVE_INFINITY;

// Read the history until the answer is there; what is waited for already is waited for together.
function awaitAnswer(since, text) {
  const until = Date.now() + TURN_WITHIN_MS;
  if (awaiting) {
    awaiting.since = Math.max(awaiting.since, since);
    awaiting.until = until;
    return awaiting.done;
  }
  awaiting = { since, until, text };
  setActivity(text);
  awaiting.done = pollHistory().finally(() => {
    awaiting = null;
    if (!sending) setActivity("");
  });
  return awaiting.done;
}

async function pollHistory() {
  for (let delay = 500; Date.now() < awaiting.until; delay = Math.min(LONGEST_PAUSE_MS, delay * 1.2)) {
    try {
      const before = timeline.messages.size;
      const history = await refresh();
      if (isAnswered(history.messages, awaiting.since)) {
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

// A run's end is answered without a question: by an answer that follows another one.
function isAnswered(messages, since) {
  if (since === TO_THE_QUESTION) return messages.at(-1)?.role === "assistant";
  return messages.some((message, index) => message.role === "assistant" &&
    messages[index - 1]?.role !== "user" && Date.parse(message.at) >= since);
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
  const [history] = await Promise.all([refresh(), runs.load()]);
  timeline.scrollToEnd();
  const last = history.messages.at(-1);
  const openSince = last?.role === "user" ? Date.parse(last.at) : Number.NaN;
  if (Date.now() - openSince < TURN_WITHIN_MS) {
    awaitAnswer(TO_THE_QUESTION, "Waiting for the answer…");
  }
  for (const { envelope } of runs.cards.values()) {
    const ended = hasEnded(envelope) && isTold(envelope) ? endOf(envelope) : Number.NaN;
    if (Date.now() - ended < TURN_WITHIN_MS && !isAnswered(history.messages, ended)) {
      awaitAnswer(ended, ANSWER_IS_COMING);
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
