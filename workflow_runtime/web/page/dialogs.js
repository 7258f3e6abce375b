// The page's dialogs as promises: each resolves to what a person answered, or to null.

import { byId } from "./dom.js";

function open(dialog, read) {
  return new Promise((resolve) => {
    let answer = null;
    const form = dialog.querySelector("form");
    const close = () => dialog.close();
    const submit = (event) => {
      event.preventDefault();
      const value = read();
      if (value === null) return;
      answer = value;
      dialog.close();
    };
    const closers = dialog.querySelectorAll("[data-close]");
    for (const button of closers) button.addEventListener("click", close);
    form?.addEventListener("submit", submit);
    dialog.addEventListener("close", () => {
      for (const button of closers) button.removeEventListener("click", close);
      form?.removeEventListener("submit", submit);
      resolve(answer);
    }, { once: true });
    dialog.showModal();
  });
}

export function confirm({ title, text, yes }) {
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = yes;
  return open(byId("confirm-dialog"), () => true);
}

export function askKey(refused) {
  byId("key-text").textContent = refused
    ? "The server refused that key. Enter another one; it is kept in this browser tab only."
    : "This skill asks for a function key. It is kept in this browser tab only.";
  const input = byId("key-input");
  input.value = "";
  return open(byId("key-dialog"), () => {
    const key = input.value.trim();
    if (!key) input.focus();
    return key || null;
  });
}

export function askSession(current, isValid) {
  const full = byId("session-full");
  const input = byId("session-input");
  const error = byId("session-error");
  const copy = byId("session-copy");
  full.value = current ?? "It gets its id with the first message";
  copy.disabled = !current;
  copy.textContent = "Copy";
  copy.onclick = async () => {
    full.select();
    try {
      await navigator.clipboard.writeText(current);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Press Ctrl+C";
    }
  };
  input.value = "";
  error.textContent = "";
  return open(byId("session-dialog"), () => {
    const id = input.value.trim();
    if (isValid(id)) return id;
    error.textContent = "An id has 1 to 128 letters, digits, dots, underscores and hyphens.";
    input.focus();
    return null;
  });
}

// The frame is an opaque origin; what is posted to it can reach neither this page nor the network.
export function showReport(html, title) {
  const dialog = byId("report-dialog");
  byId("report-title").textContent = title;
  const frame = document.createElement("iframe");
  frame.title = title;
  frame.setAttribute("sandbox", "allow-scripts");
  const hand = (event) => {
    if (event.source !== frame.contentWindow || event.data !== "report-ready") return;
    removeEventListener("message", hand);
    frame.contentWindow.postMessage(html, "*");
  };
  addEventListener("message", hand);
  frame.src = "assets/report.html";
  byId("report-place").replaceChildren(frame);
  return open(dialog, () => true).finally(() => {
    removeEventListener("message", hand);
    byId("report-place").replaceChildren();
  });
}
