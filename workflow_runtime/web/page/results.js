// What a run gave, shown by what it is: text as Markdown, an HTML report in a frame of its own or as
// a file, anything else as JSON.

import { element } from "./dom.js";
import { markdown } from "./markdown.js";

const MAX_REPORTS = 6;
const MAX_DEPTH = 5;
const HTML = /^(?:\s|<!--(?:(?!-->)[^])*-->)*(?:<!doctype html|<html[\s>])/i;
const FENCED = /^\s*```html?\s*\n([^]*?)\n?```\s*$/i;

export function resultOf(output, title, showReport) {
  const reports = reportsIn(output);
  const made = reports.map((report, index) => reportRow(report, reports.length > 1 ? `${title} ${index + 1}` : title, showReport));
  const text = textOf(output);
  if (text && !reports.length) {
    made.push(element("details", { className: "output" }, element("summary", {}, "Result"),
      element("div", { className: "prose" }, markdown(text))));
  }
  if (!text || reports.length) {
    const shown = JSON.stringify(output, (_, value) => (htmlIn(value) ? "(the HTML report above)" : value), 2);
    made.push(element("details", { className: "output" }, element("summary", {}, "Result as data"),
      element("pre", { tabIndex: 0 }, element("code", {}, shown))));
  }
  if (output.truncated === true) {
    const size = output.bytes ? ` The whole result has ${output.bytes.toLocaleString()} bytes.` : "";
    made.push(element("p", { className: "facts" }, `This is a preview.${size}`));
  }
  return made;
}

function reportRow(report, title, showReport) {
  const view = element("button", { type: "button" }, "View report");
  view.addEventListener("click", () => showReport(report.html, title));
  const save = element("button", { type: "button", className: "quiet" }, "Download");
  save.addEventListener("click", () => download(report.html, `${report.name || "report"}.html`));
  return element("div", { className: "report-row" },
    element("span", { className: "report-name" }, report.name || "HTML report"), view, save);
}

function download(html, name) {
  const url = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  element("a", { href: url, download: name.replace(/[^\w.-]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function reportsIn(value, name = "", depth = 0, found = []) {
  if (found.length >= MAX_REPORTS || depth > MAX_DEPTH) return found;
  const html = htmlIn(value);
  if (html) found.push({ name: titleOf(html) || name, html });
  else if (Array.isArray(value)) value.forEach((item) => reportsIn(item, name, depth + 1, found));
  else if (value && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) reportsIn(item, key === "text" ? name : key, depth + 1, found);
  }
  return found;
}

function titleOf(html) {
  return new DOMParser().parseFromString(/<title>[^<]*<\/title>/i.exec(html)?.[0] ?? "", "text/html").title;
}

function htmlIn(value) {
  if (typeof value !== "string") return null;
  const fenced = FENCED.exec(value);
  const text = fenced ? fenced[1] : value;
  return HTML.test(text) ? text : null;
}

function textOf(output) {
  if (typeof output === "string") return output;
  const keys = Object.keys(output);
  const plain = typeof output.text === "string" && keys.every((key) => key === "text" || key === "agent");
  return plain ? output.text : null;
}
