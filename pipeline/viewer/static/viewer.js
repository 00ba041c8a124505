// Keys, the page's picture, and words linked to their boxes. Nothing here comes from another host, or goes to one.
"use strict";

const byId = (id) => document.getElementById(id);
const remembered = (name) => localStorage.getItem("ocrbatch." + name);
const remember = (name, value) => localStorage.setItem("ocrbatch." + name, value);

const sheet = byId("sheet");
const text = byId("text");
const markdown = byId("markdown");
const correction = byId("correction");

// --- the picture, asked for when the page is there: drawing it may take longer than the text

function widthWanted() {
  return Math.ceil(sheet.clientWidth * Math.max(1, window.devicePixelRatio));
}

async function draw() {
  const width = widthWanted();
  if (width <= (sheet.drawnWidth || 0)) return;
  sheet.drawnWidth = width;
  const response = await fetch(`${sheet.dataset.image}?w=${width}`).catch(() => null);
  const problem = byId("no-picture");
  if (!response || !response.ok) {
    if (problem) problem.textContent = response ? await response.text() : "The reader does not answer any more.";
    return;
  }
  const address = URL.createObjectURL(await response.blob());
  const image = sheet.querySelector("img") || sheet.insertBefore(new Image(), sheet.firstChild);
  image.alt = "the page as it looks";
  image.onload = () => URL.revokeObjectURL(address);
  image.src = address;
  if (problem) problem.remove();
  drawBoxes();
}

// --- words and their boxes: one rectangle for each word that has one

const SVG = "http://www.w3.org/2000/svg";
const wordOf = new Map();
const boxOf = new Map();

function drawBoxes() {
  const { width, height } = sheet.dataset;
  if (boxOf.size || !Number(width) || !Number(height)) return;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  for (const word of text.querySelectorAll("[data-box]")) {
    const [x0, y0, x1, y1] = word.dataset.box.split(" ").map(Number);
    const box = document.createElementNS(SVG, "rect");
    const values = { x: x0, y: y0, width: Math.max(1, x1 - x0), height: Math.max(1, y1 - y0) };
    for (const [name, value] of Object.entries(values)) box.setAttribute(name, value);
    box.setAttribute("class", word.className.replace("w", "").trim());
    wordOf.set(box, word);
    boxOf.set(word, box);
    svg.append(box);
  }
  sheet.append(svg);
}

let marked = [];
let held = null;

function light(word, box) {
  for (const item of marked) item.classList.remove("on");
  marked = [word, box].filter(Boolean);
  for (const item of marked) item.classList.add("on");
}

function pair(target) {
  const word = target.closest && target.closest(".w");
  if (word) return [word, boxOf.get(word)];
  return wordOf.has(target) ? [wordOf.get(target), target] : [];
}

function linkWords() {
  const toMiddle = { block: "center", inline: "nearest", behavior: "smooth" };
  for (const side of [text, sheet]) {
    side.addEventListener("mouseover", (event) => {
      const found = pair(event.target);
      if (found.length) light(...found);
      else if (held) light(...held);
      else light();
    });
    side.addEventListener("mouseleave", () => light(...(held || [])));
    side.addEventListener("click", (event) => {
      const found = pair(event.target);
      held = found.length ? found : null;
      light(...(held || []));
      const other = held && held[side === text ? 1 : 0];
      if (other && side === sheet) showTab("text");
      if (other) other.scrollIntoView(toMiddle);
    });
  }
}

// Words that were searched for.
function markHits() {
  const terms = text.dataset.query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
  if (!terms.length) return;
  let first = null;
  for (const word of text.querySelectorAll(".w")) {
    const parts = word.textContent.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
    if (parts.some((part) => terms.includes(part))) {
      word.classList.add("hit");
      first = first || word;
    }
  }
  if (first) first.scrollIntoView({ block: "center" });
}

// --- text or markdown, colours, boxes

function showTab(name) {
  const isEditing = correction && !correction.hidden;
  for (const [part, tab] of [[text, "text"], [markdown, "markdown"]]) {
    part.hidden = isEditing || tab !== name;
    byId(tab + "-tab").setAttribute("aria-selected", String(tab === name));
  }
  remember("tab", name);
}

function bindSwitch(id, apply) {
  const box = byId(id);
  const kept = remembered(id);
  if (kept !== null) box.checked = kept === "true";
  const changed = () => {
    apply(box.checked);
    remember(id, box.checked);
  };
  box.addEventListener("change", changed);
  apply(box.checked);
}

async function copy() {
  const button = byId("copy");
  const source = markdown.hidden ? text : markdown;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

function edit(isEditing) {
  if (!correction) return;
  correction.hidden = !isEditing;
  showTab(remembered("tab") || "text");
  if (isEditing) {
    const area = correction.querySelector("textarea");
    area.focus();
    area.setSelectionRange(0, 0);
    area.scrollTop = 0;
  }
}

function isChanged() {
  const area = correction && !correction.hidden && correction.querySelector("textarea");
  return Boolean(area) && area.value !== area.defaultValue;
}

function leave() {
  if (isChanged() && !confirm("Leave the text as it was?")) return;
  correction.reset();
  edit(false);
}

// --- keys

const follow = (id) => byId(id) && byId(id).click();
const KEYS = {
  ArrowLeft: () => follow("previous"),
  ArrowRight: () => follow("next"),
  n: () => follow("look"),
  "/": () => byId("q").select(),
  t: () => showTab(markdown.hidden ? "markdown" : "text"),
  b: () => follow("boxes"),
  o: () => follow("order"),
  k: () => follow("colours"),
  z: () => enlarge(),
  c: () => copy(),
  e: () => follow("edit"),
  "?": () => byId("help").showModal(),
};
const EVERYWHERE = ["ArrowLeft", "ArrowRight", "n", "/", "?"];

function enlarge() {
  sheet.classList.toggle("large");
  draw();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.key === "Enter" && correction && !correction.hidden) {
    correction.requestSubmit();
    return;
  }
  if (event.key === "Escape" && correction && !correction.hidden) {
    leave();
    return;
  }
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!Object.hasOwn(KEYS, event.key) || !(sheet || EVERYWHERE.includes(event.key))) return;
  event.preventDefault();
  KEYS[event.key]();
});

byId("help-button").addEventListener("click", () => byId("help").showModal());

if (sheet) {
  bindSwitch("colours", (isOn) => text.classList.toggle("coloured", isOn));
  bindSwitch("boxes", (isOn) => sheet.classList.toggle("boxed", isOn));
  bindSwitch("order", (isOn) => sheet.classList.toggle("ordered", isOn));
  byId("text-tab").addEventListener("click", () => showTab("text"));
  byId("markdown-tab").addEventListener("click", () => showTab("markdown"));
  byId("copy").addEventListener("click", copy);
  if (correction) {
    byId("edit").addEventListener("click", () => edit(true));
    byId("leave").addEventListener("click", leave);
    correction.addEventListener("submit", () => (correction.isSent = true));
    window.addEventListener("beforeunload", (event) => {
      if (!correction.isSent && isChanged()) event.preventDefault();
    });
  }
  linkWords();
  edit(Boolean(correction && !correction.hidden));
  if (text.dataset.query) showTab("text");
  markHits();
  draw();
  window.addEventListener("resize", draw);
}
