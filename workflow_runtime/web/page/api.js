// Calls of the skill's HTTP routes. All URLs are relative to the page's own, and nothing here touches
// the page: who calls decides what a person sees.

const SESSION_HEADER = "x-ms-session-id";

// An answer that is not what was asked for; `problem` is the server's problem object or one like it.
export class ProblemError extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "The request failed.");
    this.problem = problem;
  }
}

export class Api {
  // `session` gives and takes the session id, `askKey(refused)` resolves to a function key or null.
  constructor({ slug, session, askKey }) {
    this.session = session;
    this.askKey = askKey;
    this.keyName = `workflow-runtime.key.${slug}`;
    this.asking = null;
  }

  history() { return this.json("GET", "history"); }
  workflows() { return this.json("GET", "workflows?limit=50"); }
  workflow(id) { return this.json("GET", `workflows/${encodeURIComponent(id)}`); }
  cancel(id) { return this.json("POST", `workflows/${encodeURIComponent(id)}/cancel`, {}); }

  rerun(id) { return this.json("POST", `workflows/${encodeURIComponent(id)}/rerun`, {}); }
  sendEvent(id, name, payload) {
    return this.json("POST", `workflows/${encodeURIComponent(id)}/events/${encodeURIComponent(name)}`, { payload });
  }
  decide(id, task, answer) {
    return this.json("POST", `workflows/${encodeURIComponent(id)}/approvals/${encodeURIComponent(task)}`, answer);
  }

  async json(method, path, body) {
    const answer = await this.send(method, path, body);
    return answer.json();
  }

  // Run one turn; `onEvent(name, data)` hears its events in order. Resolves to true when the turn's end was heard.
  async stream(message, onEvent) {
    const answer = await this.send("POST", "chat/stream", { message });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) return false;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (!event) continue;
        onEvent(event.name, event.data);
        if (event.name !== "done" && event.name !== "error") continue;
        reader.cancel().catch(() => {});
        return true;
      }
    }
  }

  async send(method, path, body) {
    for (;;) {
      const key = sessionStorage.getItem(this.keyName);
      const answer = await this.fetch(method, path, body, key);
      const session = answer.headers.get(SESSION_HEADER);
      if (answer.ok) {
        if (session) this.session.set(session);
        return answer;
      }
      const problem = await readProblem(answer);
      const wantsKey = answer.status === 401 && problem.code !== "sign_in_required";
      if (!wantsKey || !(await this.newKey(key))) throw new ProblemError(problem);
    }
  }

  async fetch(method, path, body, key) {
    const headers = {};
    const session = this.session.get();
    if (session) headers[SESSION_HEADER] = session;
    if (key) headers["x-functions-key"] = key;
    if (body !== undefined) headers["content-type"] = "application/json";
    try {
      return await fetch(path, {
        method, headers, cache: "no-store",
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch {
      throw new ProblemError({
        code: "unreachable", title: "The server cannot be reached",
        detail: "Check the connection, and that the app is running.",
      });
    }
  }

  // Several calls may be refused at once: a person is asked once, and a newer key is simply tried.
  async newKey(refused) {
    const current = sessionStorage.getItem(this.keyName);
    if (current && current !== refused) return true;
    this.asking ??= this.askKey(Boolean(refused)).finally(() => { this.asking = null; });
    const key = await this.asking;
    if (!key) return false;
    sessionStorage.setItem(this.keyName, key);
    return true;
  }
}

function parseEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}

async function readProblem(answer) {
  try {
    const problem = await answer.json();
    if (problem && typeof problem === "object") return { status: answer.status, ...problem };
  } catch { /* a proxy's page, or nothing: the status says what there is to say */ }
  return {
    status: answer.status,
    title: answer.status === 401 ? "Not authorised" : `The server answered ${answer.status}`,
    detail: answer.statusText || "It gave no further explanation.",
  };
}
