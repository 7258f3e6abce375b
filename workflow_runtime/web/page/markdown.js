// A small Markdown renderer that builds elements and never parses HTML: what it does not know stays
// text. Headings, paragraphs, lists, quotes, tables, rules, fenced and inline code, bold, italics,
// and links to http and https.

import { element } from "./dom.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*(\S*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const INLINE = /(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?)\*\*|(?<![\w*])\*(?=\S)([^*]+?)\*(?!\w)|(?<![\w_])_(?=\S)([^_]+?)_(?!\w)|\[([^\]]*)\]\((\S+?)\)|(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])/;
const MAX_DEPTH = 8;

export function markdown(text) {
  const fragment = document.createDocumentFragment();
  fragment.append(...blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0));
  return fragment;
}

function blocks(lines, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const read = [fenced, heading, rule, table, list, quote, blank].reduce(
      (found, reader) => found || reader(lines, at, depth), null) || paragraph(lines, at);
    if (read.node) made.push(read.node);
    at = read.next;
  }
  return made;
}

function blank(lines, at) {
  return lines[at].trim() ? null : { next: at + 1 };
}

function fenced(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(open[1])) end += 1;
  const code = element("code", {}, lines.slice(at + 1, end).join("\n"));
  return { node: element("pre", { tabIndex: 0 }, code), next: end + 1 };
}

function heading(lines, at) {
  const match = HEADING.exec(lines[at]);
  if (!match) return null;
  // The page's own headings stand above those of an answer.
  return { node: element(`h${Math.min(6, match[1].length + 2)}`, {}, ...inline(match[2])), next: at + 1 };
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? { node: element("hr"), next: at + 1 } : null;
}

function quote(lines, at, depth) {
  if (!QUOTE.test(lines[at]) || depth > MAX_DEPTH) return null;
  const inner = [];
  let end = at;
  for (; end < lines.length && QUOTE.test(lines[end]); end += 1) inner.push(QUOTE.exec(lines[end])[1]);
  return { node: element("blockquote", {}, ...blocks(inner, depth + 1)), next: end };
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first || depth > MAX_DEPTH) return null;
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const match = ITEM.exec(lines[end]);
    if (match && match[1].length <= indent + 1 && /\d/.test(match[2]) === ordered) {
      if (match[1].length < indent) break;
      items.push([match[3]]);
    } else if (lines[end].trim() && /^\s*/.exec(lines[end])[0].length > indent) {
      items.at(-1).push(lines[end].slice(Math.min(indent + 2, /^\s*/.exec(lines[end])[0].length)));
    } else if (!lines[end].trim() && ITEM.test(lines[end + 1] ?? "")) {
      // A blank line between items keeps one list.
    } else break;
    end += 1;
  }
  const start = ordered ? Number.parseInt(first[2], 10) : undefined;
  const node = element(ordered ? "ol" : "ul", ordered && start !== 1 ? { start } : {},
    ...items.map((item) => element("li", {}, ...itemContent(item, depth))));
  return { node, next: end };
}

function itemContent(lines, depth) {
  if (lines.length === 1) return inline(lines[0]);
  return [...inline(lines[0]), ...blocks(lines.slice(1), depth + 1)];
}

function table(lines, at) {
  if (!lines[at].includes("|") || !TABLE_RULE.test(lines[at + 1] ?? "") || !lines[at + 1].includes("-")) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const row = (line, tag) => element("tr", {}, ...cells(line).map((cell) => element(tag, {}, ...inline(cell))));
  const node = element("div", { className: "scroll", tabIndex: 0 }, element("table", {},
    element("thead", {}, row(lines[at], "th")),
    element("tbody", {}, ...lines.slice(at + 2, end).map((line) => row(line, "td")))));
  return { node, next: end };
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() &&
    ![FENCE, HEADING, RULE, ITEM, QUOTE].some((start) => start.test(lines[end]))) end += 1;
  const children = [];
  lines.slice(at, end).forEach((line, index) => {
    if (index) children.push(element("br"));
    children.push(...inline(line.trim()));
  });
  return { node: element("p", {}, ...children), next: end };
}

function inline(text) {
  const made = [];
  let rest = text;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    if (match.index) made.push(rest.slice(0, match.index));
    made.push(span(match));
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest) made.push(rest);
  return made;
}

function span([all, , code, bold, star, underscore, label, target, bare]) {
  if (code !== undefined) return element("code", {}, code);
  if (bold !== undefined) return element("strong", {}, ...inline(bold));
  if (star !== undefined) return element("em", {}, ...inline(star));
  if (underscore !== undefined) return element("em", {}, ...inline(underscore));
  return link(bare ?? target, bare ?? label) ?? all;
}

function link(target, label) {
  if (!/^https?:\/\//i.test(target)) return null;
  return element("a", { href: target, target: "_blank", rel: "noopener noreferrer nofollow" }, label || target);
}
