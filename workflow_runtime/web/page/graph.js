// A plan as a picture: tasks in layers, each below those it waits for. A task that runs once for each
// item of a list is one box with its counts.

const BOX = { width: 168, height: 40, gapX: 24, gapY: 36, pad: 6 };
const SVG = "http://www.w3.org/2000/svg";
const MAX_TASKS = 60;
const ORDER = ["failed", "running", "waiting", "outcome_unknown", "canceled", "pending", "not_run", "completed", "skipped"];

export function drawGraph(lines) {
  const tasks = gather(lines);
  const edges = [...tasks.values()].flatMap((task) => task.after.filter((id) => tasks.has(id)).map((id) => [id, task.id]));
  if (!edges.length || tasks.size > MAX_TASKS) return null;
  const layers = layersOf(tasks);
  const widest = Math.max(...layers.map((layer) => layer.length));
  const width = widest * (BOX.width + BOX.gapX) - BOX.gapX + 2 * BOX.pad;
  const height = layers.length * (BOX.height + BOX.gapY) - BOX.gapY + 2 * BOX.pad;
  const svg = made("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "plan-graph" });
  svg.setAttribute("aria-label", `Graph of ${tasks.size} tasks`);
  place(layers, width);
  for (const [from, to] of edges) svg.append(edge(tasks.get(from), tasks.get(to)));
  for (const task of tasks.values()) svg.append(box(task));
  return svg;
}

function gather(lines) {
  const tasks = new Map();
  for (const line of lines) {
    const id = line.id.replace(/\[\d+\]$/, "");
    const task = tasks.get(id) ?? { id, after: [], statuses: [], many: id !== line.id };
    task.statuses.push(line.status);
    if (line.after) task.after = line.after;
    tasks.set(id, task);
  }
  return tasks;
}

function layersOf(tasks) {
  const depths = new Map();
  const depth = (task, seen = new Set()) => {
    if (depths.has(task.id)) return depths.get(task.id);
    if (seen.has(task.id)) return 0;
    seen.add(task.id);
    const above = task.after.filter((id) => tasks.has(id)).map((id) => depth(tasks.get(id), seen) + 1);
    depths.set(task.id, Math.max(0, ...above));
    return depths.get(task.id);
  };
  const layers = [];
  for (const task of tasks.values()) (layers[depth(task)] ??= []).push(task);
  for (const layer of layers) layer.sort((one, other) => one.id.localeCompare(other.id));
  return layers;
}

function place(layers, width) {
  layers.forEach((layer, row) => {
    const taken = layer.length * (BOX.width + BOX.gapX) - BOX.gapX;
    layer.forEach((task, column) => {
      task.x = (width - taken) / 2 + column * (BOX.width + BOX.gapX);
      task.y = BOX.pad + row * (BOX.height + BOX.gapY);
    });
  });
}

function edge(from, to) {
  const [x1, y1] = [from.x + BOX.width / 2, from.y + BOX.height];
  const [x2, y2] = [to.x + BOX.width / 2, to.y];
  const middle = (y1 + y2) / 2;
  return made("path", { class: "plan-edge", d: `M ${x1} ${y1} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${y2}` });
}

function box(task) {
  const status = ORDER.find((one) => task.statuses.includes(one)) ?? "pending";
  const group = made("g", { class: "plan-task", "data-status": status });
  const shape = made("rect", { x: task.x, y: task.y, width: BOX.width, height: BOX.height, rx: 8 });
  const name = text(task.x + 12, task.y + (task.many ? 17 : 25), short(task.id), "plan-name");
  const title = made("title", {});
  title.textContent = `${task.id}: ${status}`;
  group.append(title, shape, name);
  if (task.many) {
    const done = task.statuses.filter((one) => one === "completed").length;
    group.append(text(task.x + 12, task.y + 32, `${done} of ${task.statuses.length} done`, "plan-count"));
  }
  return group;
}

function text(x, y, content, name) {
  const node = made("text", { x, y, class: name });
  node.textContent = content;
  return node;
}

function short(id) {
  return id.length > 20 ? `${id.slice(0, 19)}…` : id;
}

function made(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
