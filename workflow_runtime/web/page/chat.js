// The chat page: joins the composer, the conversation and the runs to the server's routes.

import { isReplied, lastQuestionAt, unanswered } from "./answers.js";
import { Api } from "./api.js";
import { endOf, hasEnded, isTold, statusLabel } from "./cards.js";
import { askKey, askSession, confirm, showReport } from "./dialogs.js";
import { byId } from "./dom.js";
import { Runs } from "./runs.js";
import { Timeline } from "./timeline.js";

const ANSWER_IS_COMING = "The workflow has ended; its answer is coming.";
const WAITING = "Waiting for the answer…";
const slug = document.body.dataset.skill;
const SESSION_KEY = `workflow-runtime.session.${slug}`;
const VALID_SESSION = /^[A-Za-z0-9._-]{1,128}$/;
const TURN_WITHIN_MS = 900_000;
const LONGEST_PAUSE_MS = 4000;

// A page stays in the session that it was loaded with: another tab may have begun a new one since.
const session = {
  id: localStorage.getItem(SESSION_KEY),
  get: () => session.id,
  set(id) {
    if (id === session.id) return;
    session.id = id;
    localStorage.setItem(SESSION_KEY, id);
    showSession();
  },
};
const api = new Api({ slug, session, askKey });
const timeline = new Timeline(byId("timeline"));
const runs = new Runs({
  api,
  actions: { confirm, report: showReport, failed: showProblem },
  keepingPlace: (change) => timeline.keepingPlace(change),
  onCard(card) {
    timeline.addCard(card);
    showEmpty();
  },
  onEnded(envelope) {
    announce(`Workflow ${envelope.name || ""} ended: ${statusLabel(envelope.status)}.`);
    if (isTold(envelope)) awaitRun(endOf(envelope));
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
  const turn = { answer: null, problem: null, after: lastQuestionAt(reads.messages) };
  try {
    const heardTheEnd = await api.stream(text, (name, data) => onEvent(turn, name, data));
    turn.answer?.flush();
    if (!heardTheEnd) await followOnServer(turn);
    else await settle(turn);
  } catch (error) {
    if (turn.answer) await followOnServer(turn);
    else takeBack(question, text, error);
  } finally {
    setSending(false);
    setActivity(waiting.text);
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
const reads = { begun: 0, shown: 0, messages: [] };

async function refresh() {
  const read = reads.begun += 1;
  const history = await api.history();
  if (read > reads.shown) {
    reads.shown = read;
    reads.messages = history.messages;
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

async function followOnServer(turn) {
  showNotice("The connection was lost", "The turn goes on at the server; its answer will appear here.");
  await awaitReply(turn.after);
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

// `ends` has the times of all ends that were seen: an answer that came stands for one of them only.
const waiting = { ends: [], question: null, until: 0, text: "", polls: false };

function awaitRun(end) {
  if (Number.isNaN(end)) return;
  waiting.ends.push(end);
  poll(ANSWER_IS_COMING);
}

// Resolves when the question that was asked after that time has its answer, or it is given up.
function awaitReply(after) {
  return new Promise((resolve) => {
    waiting.question = { after, resolve };
    poll(WAITING);
  });
}

async function poll(text) {
  waiting.until = Date.now() + TURN_WITHIN_MS;
  waiting.text ||= text;
  setActivity(waiting.text);
  if (waiting.polls) return;
  waiting.polls = true;
  await pollHistory();
  waiting.question?.resolve();
  Object.assign(waiting, { question: null, text: "", polls: false });
  if (!sending) setActivity("");
}

async function pollHistory() {
  for (let delay = 500; Date.now() < waiting.until; delay = Math.min(LONGEST_PAUSE_MS, delay * 1.2)) {
    try {
      const before = timeline.messages.size;
      const { messages } = await refresh();
      const isNew = timeline.messages.size > before && messages.at(-1).role === "assistant";
      if (isNew) announce(`Answer: ${messages.at(-1).text}`);
      if (waiting.question && isReplied(messages, waiting.question.after)) {
        waiting.question.resolve();
        waiting.question = null;
      }
      if (!waiting.question && !unanswered(messages, waiting.ends)) return hideNotice();
    } catch (error) {
      if (error.problem?.status && error.problem.status < 500) return showProblem(error);
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
  waiting.ends = [];
  showNotice("No answer yet", "Send a message to ask what came out, or reload the page later.");
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
  const isRecent = (time) => Date.now() - time < TURN_WITHIN_MS;
  if (history.messages.at(-1)?.role === "user" && isRecent(lastQuestionAt(history.messages))) {
    awaitReply(lastQuestionAt(history.messages.slice(0, -1)));
  }
  for (const { envelope } of runs.cards.values()) {
    if (hasEnded(envelope) && isTold(envelope) && isRecent(endOf(envelope))) {
      waiting.ends.push(endOf(envelope));
    }
  }
  if (unanswered(history.messages, waiting.ends)) poll(ANSWER_IS_COMING);
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
    setActivity(waiting.text);
  }
  showEmpty();
  input.focus({ preventScroll: true });
}

start();
