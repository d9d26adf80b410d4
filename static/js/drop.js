/* The drop page: the scene changes by itself, the button arms at the shop's second, one tap buys. */
import { cameBack, heard, pageArrivedAt } from "./clock.js";
import { draw, drawClockLine, LAST_SECONDS } from "./countdown.js";
import { follow } from "./live.js";
import { announce, calm, fill, inLanguage, localTimes } from "./page.js";

const MARKS_SECONDS = [600, 300, 60, 30, 10]; // told to screen readers on the way to the opening
const COUNT_EVERY_MS = 15_000; // "37 left" is told no more often than this
const LATE_MS = 300; // after zero, how long the push may take before the page asks

const main = document.querySelector("main.drop");
const scene = () => main.querySelector("[data-phase]");
const phase = () => scene().dataset.phase;
const opensAt = () => Date.parse(scene().dataset.opensAt);
const waiting = () => phase() === "announced" || phase() === "last_seconds";
let told = performance.now();
let mark = Infinity;
let ticked = false;
let asked = false;

/* ---- the scene ------------------------------------------------------------------------------------------------------------ */

let swapping = Promise.resolve();

function show(html) {
  swapping = swapping.then(() => swap(html)).catch(() => {});
}

async function swap(html) {
  const parsed = document.createRange().createContextualFragment(html).querySelector("[data-phase]");
  if (!parsed) return;
  heard(parsed.dataset.serverTime);
  const before = scene();
  const [seq, shown] = [Number(parsed.dataset.seq), Number(before.dataset.seq)];
  if (seq !== 0 && seq < shown) return; // 0: the gate could not be asked, so there is no reading to compare
  const changes = parsed.dataset.phase !== before.dataset.phase;
  const bands = [...main.querySelectorAll(".strip > i")].map((band) => band.className);
  const left = before.dataset.left;

  const change = () => htmx.swap({ sourceElement: before, target: before, text: html, swap: "outerMorph" });
  if (changes && document.startViewTransition && !calm.matches && !document.hidden) {
    const transition = document.startViewTransition(change);
    transition.ready.catch(() => {}); // skipped, for one that is already running: the change itself still happens
    await transition.updateCallbackDone;
  } else {
    await change();
  }
  if (!changes) flip(bands);
  else if (phase() === "open") main.querySelectorAll("[data-said]").forEach((said) => said.replaceChildren()); // no longer so
  arrange();
  if (changes) announce([".scene__state", ".scene__lead", ".note__title"].map((one) => scene().querySelector(one)?.textContent.trim()).filter(Boolean).join(". "));
  else if (left !== scene().dataset.left) tellCount();
}

/* A band that changed turns over once. */
function flip(before) {
  if (calm.matches) return;
  [...main.querySelectorAll(".strip > i")].forEach((band, index) => {
    if (before[index] !== undefined && before[index] !== band.className) {
      band.animate([{ scale: "1 0.08" }, { scale: "1 1" }], { duration: 200, easing: "ease-out" });
    }
  });
}

function tellCount() {
  if (phase() !== "open" || performance.now() - told < COUNT_EVERY_MS) return;
  told = performance.now();
  announce(fill(main.querySelector("[data-announcer]").dataset.wordsLeft, scene().dataset.left));
}

/* What the scene says, carried to the form beside it and to the tab's icon. */
function arrange() {
  localTimes(main);
  const icon = document.querySelector("link[data-icons]");
  const drawn = icon.dataset[scene().querySelector(".scene__state").dataset.tone];
  if (icon.getAttribute("href") !== drawn) icon.href = drawn;
  for (const variant of scene().querySelectorAll("[data-variant]")) {
    const choice = main.querySelector(`[data-choice="${variant.dataset.variant}"]`);
    if (!choice) continue;
    const left = Number(variant.dataset.variantLeft);
    choice.toggleAttribute("data-gone", left === 0);
    const words = choice.querySelector("small");
    const text = left ? fill(words.dataset.wordsLeft, left) : words.dataset.wordsGone;
    if (words.textContent !== text) words.textContent = text;
  }
  arrangeList();
  tick();
}

/* ---- the list --------------------------------------------------------------------------------------------------------------- */

/* The scene says how many wait and which numbers were called. Who reads their own number asks at once what is theirs; who only moved
   up asks within a while, each at a moment of their own. */
const CALLED_LATE_MS = 800;
const MOVED_LATE_MS = 12_000;
let list = null;
let mineTimer = 0;
let mineAt = Infinity;

function arrangeList() {
  const heardOf = [];
  let called = false;
  for (const row of main.querySelectorAll("[data-list]")) {
    const variant = scene().querySelector(`[data-variant="${row.dataset.list}"]`)?.dataset;
    if (!variant) continue;
    row.hidden = phase() === "open" && Number(variant.variantLeft) > 0 && !row.dataset.place && row.dataset.stays === undefined;
    const words = row.querySelector("[data-list-count]");
    if (words) {
      const waiting = Number(variant.variantWaiting);
      const text = waiting ? fill(words.dataset.words, waiting) : words.dataset.wordsNone;
      if (words.textContent !== text) words.textContent = text;
    }
    if (!row.dataset.place) continue;
    heardOf.push(row.dataset.list, row.dataset.place, variant.variantCalled, Math.min(Number(row.dataset.ahead), Number(variant.variantWaiting)));
    called ||= Number(row.dataset.place) <= Number(variant.variantCalled);
  }
  const before = list;
  list = heardOf.join();
  if (list && before !== null && list !== before) askMine(Math.random() * (called ? CALLED_LATE_MS : MOVED_LATE_MS));
}

function askMine(milliseconds) {
  const at = performance.now() + milliseconds;
  if (at >= mineAt) return;
  clearTimeout(mineTimer);
  mineAt = at;
  mineTimer = setTimeout(() => { mineAt = Infinity; refreshMine().catch(() => {}); }, milliseconds);
}

document.addEventListener("htmx:after:swap", () => {
  if (!main.querySelector(".mine")) return;
  localTimes(main);
  arrangeList();
});

/* ---- the countdown ---------------------------------------------------------------------------------------------------------- */

let ticking = 0;

function tick() {
  clearTimeout(ticking);
  const button = main.querySelector("[data-buy-button]");
  if (!waiting()) {
    if (button) button.disabled = phase() !== "open";
    return;
  }
  const left = draw(opensAt(), main);
  drawClockLine(main);
  if (left <= LAST_SECONDS * 1000 && phase() === "announced") scene().dataset.phase = "last_seconds";
  if (button) button.disabled = left > 0;
  tellMark(Math.ceil(left / 1000));
  if (left > 0) asked = false;
  else if (!asked) {
    asked = true;
    setTimeout(() => { if (waiting()) live.ask(); asked = false; }, LATE_MS + Math.random() * 700);
  }
  ticking = setTimeout(tick, left > 0 ? (left % 1000) + 5 : 1000);
}

function tellMark(seconds) {
  const first = !ticked;
  ticked = true;
  const next = MARKS_SECONDS.findLast((one) => seconds <= one);
  if (next === undefined || next >= mark) return;
  mark = next;
  if (first && seconds !== next) return; // the page was opened between two marks
  const words = main.querySelector("[data-announcer]").dataset;
  announce(next >= 60 ? fill(words.wordsMinutes, next / 60) : fill(words.wordsSeconds, next));
}

/* ---- the buy ---------------------------------------------------------------------------------------------------------------- */

/* The key of the form is the buy's identity. It stays until an answer came, so that a tap after a lost answer finds the same order. */
let unanswered = null;

document.addEventListener("htmx:before:request", (event) => {
  if (event.target.matches?.("form[data-buy]")) unanswered = event.target.elements.key.value;
});
document.addEventListener("htmx:after:request", (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (event.target.matches?.("form[data-buy]") && status && status < 500) unanswered = null;
});
document.addEventListener("htmx:error", (event) => {
  const form = event.target.closest?.("form[data-buy]");
  if (!form) return;
  const lost = form.querySelector("template[data-words-lost]");
  form.querySelector("[data-said]").replaceChildren(lost.content.cloneNode(true));
});

/* What is yours, asked again: after Back, when it may have changed without this page. */
async function refreshMine() {
  const answer = await fetch(inLanguage(`/drops/${main.dataset.slug}/mine`), { headers: { "HX-Request": "true", "HX-Request-Type": "partial" }, cache: "no-store" });
  if (!answer.ok) return;
  const mine = main.querySelector(".mine");
  const chosen = mine.querySelector("[name=variant]:checked")?.value;
  await htmx.swap({ sourceElement: mine, target: mine, text: await answer.text(), swap: "outerHTML" });
  const form = main.querySelector("form[data-buy]");
  if (unanswered) form.elements.key.value = unanswered;
  for (const choice of form.querySelectorAll("[name=variant][type=radio]")) if (choice.value === chosen) choice.checked = true;
  arrange();
}

addEventListener("pageshow", (event) => {
  if (event.persisted) refreshMine().catch(() => {});
});

heard(scene().dataset.serverTime, pageArrivedAt());
const live = follow(main.dataset.slug, show, scene);
arrange();
if (cameBack()) {
  live.ask();
  refreshMine().catch(() => {});
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
document.addEventListener("resume", () => { tick(); refreshMine().catch(() => {}); });
