// The runs of this session: finds them, keeps a card for each, and asks the server for news of those
// that go on: as often as the server says and at most once a second. A run is asked for each second
// in its first moments, when most happens and somebody is surely looking.

import { RunCard, hasEnded } from "./cards.js";

const LEAST_SECONDS = 1;
const MOST_TROUBLE_SECONDS = 30;
const YOUNG_SECONDS = 20;

export class Runs {
  // `onCard(card)` hears of a new card, `onEnded(envelope)` of a run that was seen to end.
  // `keepingPlace(change)` makes a change for which the page may have to follow.
  constructor({ api, actions, keepingPlace, onCard, onEnded }) {
    Object.assign(this, { api, keepingPlace, onCard, onEnded });
    this.actions = {
      ...actions,
      cancel: (envelope) => this.cancel(envelope, actions),
      rerun: (envelope) => this.rerun(envelope, actions),
      decide: (envelope, { task, digest }, answer) =>
        this.say(envelope, (id) => this.api.decide(id, task, { ...answer, digest })),
      sendEvent: (envelope, { event }, payload) =>
        this.say(envelope, (id) => this.api.sendEvent(id, event, payload)),
    };
    this.cards = new Map();
    this.timers = new Map();
    this.failures = new Map();
    this.reads = new Map();
    setInterval(() => this.tick(), 1000);
    document.addEventListener("visibilitychange", () => this.wake());
  }

  async load() {
    const { workflows } = await this.api.workflows();
    for (const envelope of workflows) this.see(envelope, { complete: false });
  }

  // `complete` says that the envelope holds tasks and output, as that of a single run does.
  see(envelope, { complete = true } = {}) {
    const id = envelope.workflow_id;
    const known = this.cards.get(id);
    if (known) this.show(known, envelope);
    else {
      const card = new RunCard(envelope, this.actions);
      this.cards.set(id, card);
      this.onCard(card);
      if (complete && hasEnded(envelope)) this.onEnded(envelope);
    }
    if (!complete || !envelope.tasks) this.ask(id);
    else if (!hasEnded(envelope)) this.askLater(id, pace(envelope));
  }

  show(card, envelope) {
    const endsNow = hasEnded(envelope) && !hasEnded(card.envelope);
    this.keepingPlace(() => card.update(envelope));
    if (endsNow) this.onEnded(envelope);
  }

  askLater(id, seconds) {
    clearTimeout(this.timers.get(id));
    this.timers.set(id, setTimeout(() => this.ask(id), seconds * 1000));
  }

  async ask(id) {
    if (document.hidden) return;
    clearTimeout(this.timers.get(id));
    const card = this.cards.get(id);
    // Reads may overtake each other: what an older one brings is not news any more.
    const read = (this.reads.get(id) ?? 0) + 1;
    this.reads.set(id, read);
    try {
      const envelope = await this.api.workflow(id);
      if (read !== this.reads.get(id)) return;
      this.failures.delete(id);
      this.show(card, envelope);
      if (!hasEnded(envelope)) this.askLater(id, pace(envelope));
    } catch (error) {
      this.trouble(id, card, error);
    }
  }

  trouble(id, card, error) {
    const failures = (this.failures.get(id) ?? 0) + 1;
    this.failures.set(id, failures);
    const status = error.problem?.status;
    const willAskAgain = !status || status >= 500 || status === 429;
    card.setTrouble(willAskAgain
      ? `No news: ${error.message} Trying again.`
      : `No news: ${error.message}`);
    if (willAskAgain) this.askLater(id, Math.min(MOST_TROUBLE_SECONDS, 2 ** failures));
  }

  async cancel(envelope, { confirm, report, failed }) {
    const name = envelope.name || "this workflow";
    const sure = await confirm({
      title: `Cancel ${name}?`, yes: "Cancel workflow",
      text: "No further task starts. Tasks that are running are told and may still finish; what is done stays done.",
    });
    if (!sure) return;
    try {
      const answer = await this.api.cancel(envelope.workflow_id);
      const card = this.cards.get(envelope.workflow_id);
      if (!hasEnded(card.envelope) && !hasEnded(answer)) card.update({ status: answer.status });
    } catch (error) {
      failed(error);
    }
    this.ask(envelope.workflow_id);
  }

  async rerun(envelope, { failed }) {
    try {
      const started = await this.api.rerun(envelope.workflow_id);
      this.see({ ...started, name: envelope.name }, { complete: false });
    } catch (error) {
      failed(error);
    }
  }

  // Tells a run something; resolves to what went wrong, or to an empty text when it was taken.
  async say(envelope, call) {
    try {
      await call(envelope.workflow_id);
      return "";
    } catch (error) {
      return error.message;
    } finally {
      this.ask(envelope.workflow_id);
    }
  }

  tick() {
    for (const card of this.cards.values()) if (!hasEnded(card.envelope)) card.tick();
  }

  // A page that nobody sees asks for nothing; seen again, it asks at once.
  wake() {
    if (document.hidden) return;
    for (const [id, { envelope }] of this.cards) {
      if (!hasEnded(envelope) || !envelope.tasks) this.ask(id);
    }
  }
}

function pace(envelope) {
  const age = (Date.now() - Date.parse(envelope.created_at)) / 1000;
  const isOld = age > YOUNG_SECONDS;
  return isOld ? Math.max(LEAST_SECONDS, envelope.poll_after_seconds ?? LEAST_SECONDS) : LEAST_SECONDS;
}
