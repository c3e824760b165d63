// Shows one pair after the other and sends choices. Nothing is kept here but the name; the server has the rest.
"use strict";

// The arrows up and down stay with scrolling: long answers are read with them.
const KEYS = { 1: "left", ArrowLeft: "left", 2: "tie", 3: "right", ArrowRight: "right" };
const SAID = { left: "left", right: "right", tie: "equal" };
const byId = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

let annotator = "";
let pair = null;
let shownAt = 0;
let busy = false;

async function ask(path, body) {
  const options = body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const reply = await fetch(path, options);
  const data = await reply.json();
  if (!reply.ok) throw new Error(data.error);
  return data;
}

// Runs one exchange at a time; a failure is shown and nothing is lost, because nothing has moved on.
async function exchange(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
    byId("trouble").hidden = true;
  } catch (error) {
    const gone = error instanceof TypeError;
    byId("trouble").textContent = gone ? "The server cannot be reached. Your last choice is not saved; try again." : error.message;
    byId("trouble").hidden = false;
  } finally {
    busy = false;
  }
}

function show(screen) {
  pair = screen.pair;
  byId("welcome").hidden = true;
  byId("compare").hidden = byId("choices").hidden = pair === null;
  byId("finished").hidden = pair !== null;
  byId("who").textContent = annotator;
  byId("count").textContent = `${screen.done} of ${screen.total}`;
  byId("progress").max = screen.total;
  byId("progress").value = screen.done;
  for (const button of document.querySelectorAll(".undo")) button.disabled = screen.done === 0;
  for (const side of ["left", "right"]) byId(side).classList.remove("chosen");
  if (pair === null) {
    byId("export").href = `verdicts.csv?annotator=${encodeURIComponent(annotator)}`;
    byId("finished").querySelector("h1").focus();
    return;
  }
  byId("query").textContent = screen.query;
  write(byId("left").querySelector(".text"), screen.left);
  write(byId("right").querySelector(".text"), screen.right);
  scrollTo(0, 0);
  byId("request-label").focus({ preventScroll: true });
  shownAt = performance.now();
}

function choose(choice) {
  if (pair === null || busy) return;
  exchange(async () => {
    const seconds = Math.min((performance.now() - shownAt) / 1000, 86400);
    for (const side of ["left", "right"]) byId(side).classList.toggle("chosen", choice === side || choice === "tie");
    try {
      const screen = await ask("verdict", { annotator, pair, choice, seconds });
      if (!still.matches) await new Promise((resume) => setTimeout(resume, 140));
      show(screen);
      byId("said").textContent = `Saved: ${SAID[choice]}. ${screen.done} of ${screen.total}.`;
    } catch (error) {
      for (const side of ["left", "right"]) byId(side).classList.remove("chosen");
      throw error;
    }
  });
}

function undo() {
  exchange(async () => {
    show(await ask("undo", { annotator }));
    byId("said").textContent = "Taken back.";
  });
}

function begin(name) {
  annotator = name.trim().replace(/\s+/g, " ");
  exchange(async () => {
    const screen = await ask(`screen?annotator=${encodeURIComponent(annotator)}`);
    history.replaceState(null, "", `?name=${encodeURIComponent(annotator)}`);
    show(screen);
  });
}

// The little Markdown that assistants write: headings, lists, bold, emphasis. Text only ever becomes text nodes.
function write(into, text) {
  into.replaceChildren();
  let list = null;
  let paragraph = null;
  for (const line of text.split("\n")) {
    const heading = line.match(/^#{1,6}\s+(.*)/);
    const item = line.match(/^\s*(?:[-*•]|(\d+)[.)])\s+(.*)/);
    if (heading || item || !line.trim()) paragraph = null;
    if (heading || (!item && line.trim() && !/^\s{2,}/.test(line))) list = null;
    if (!line.trim()) continue;
    if (heading) {
      into.append(inline(document.createElement("h3"), heading[1]));
    } else if (item) {
      const kind = item[1] ? "ol" : "ul";
      if (!list || list.localName !== kind) {
        list = document.createElement(kind);
        if (item[1]) list.start = Number(item[1]);
        into.append(list);
      }
      list.append(inline(document.createElement("li"), item[2]));
    } else if (list) {
      list.lastElementChild.append(" ");
      inline(list.lastElementChild, line.trim());
    } else if (paragraph) {
      paragraph.append(document.createElement("br"));
      inline(paragraph, line.trim());
    } else {
      paragraph = inline(document.createElement("p"), line.trim());
      into.append(paragraph);
    }
  }
}

function inline(into, text) {
  for (const part of text.split(/(\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/)) {
    const strong = part.match(/^\*\*(.+)\*\*$/);
    const soft = !strong && part.match(/^\*(.+)\*$/);
    if (!strong && !soft) {
      into.append(part);
      continue;
    }
    const element = document.createElement(strong ? "strong" : "em");
    element.textContent = (strong || soft)[1];
    into.append(element);
  }
  return into;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.localName === "input") return;
  if (byId("welcome").hidden === false || !annotator) return;
  const choice = KEYS[event.key];
  if (choice) choose(choice);
  else if (event.key.toLowerCase() === "u" || event.key === "Backspace") undo();
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-choice]")) {
  button.addEventListener("click", () => choose(button.dataset.choice));
}
for (const button of document.querySelectorAll(".undo")) button.addEventListener("click", undo);
byId("start").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(byId("name").value);
});

const named = new URLSearchParams(location.search).get("name");
byId("welcome").hidden = false;
if (named) begin(named);
else byId("name").focus();
