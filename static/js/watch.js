/*
Race control, kept true: a socket while there is one, a poll when there is none. Every push is the whole fragment; an older one is
dropped by its time. What can be done stands outside of it and follows data-controls, so that no push moves a button that is being held.
*/
import { line } from "./line.js";
import { inLanguage } from "./page.js";

const POLL_MS = 4000; // between two polls without a socket
const STALE_MS = 8000; // no news for this long is said
const ASK_TIMEOUT_MS = 5000;

const home = location.pathname;
const watch = () => document.getElementById("watch");
const stale = document.querySelector("[data-stale]");
let lastNews = performance.now();

async function show(html) {
  const parsed = document.createRange().createContextualFragment(html).querySelector("#watch");
  if (!parsed || parsed.dataset.at < watch().dataset.at) return;
  lastNews = performance.now();
  stale.hidden = true;
  for (const open of watch().querySelectorAll("details[open]")) parsed.querySelector(`#${open.id}`)?.setAttribute("open", "");
  await htmx.swap({ sourceElement: watch(), target: watch(), text: parsed.outerHTML, swap: "outerMorph" });
  arrange();
}

/* What can be done now. */
function arrange() {
  const now = watch().dataset.controls.split(" ");
  for (const one of document.querySelectorAll("[data-when]")) {
    const there = now.includes(one.dataset.when);
    if (one.hidden === there) one.hidden = !there;
  }
}

let swapping = Promise.resolve();
const queue = (html) => { swapping = swapping.then(() => show(html)).catch(() => {}); };

async function ask() {
  const headers = { "HX-Request": "true", "HX-Request-Type": "partial" };
  const answer = await fetch(inLanguage(home), { headers, signal: AbortSignal.timeout(ASK_TIMEOUT_MS), cache: "no-store" });
  if (answer.redirected || answer.headers.has("hx-redirect")) location.reload(); // signed out meanwhile
  else if (answer.ok) queue(await answer.text());
}

const { alive } = line(`${home}/socket`, queue, () => ask().catch(() => {}));
setInterval(() => { if (!document.hidden && !alive()) ask().catch(() => {}); }, POLL_MS);
setInterval(() => { stale.hidden = performance.now() - lastNews < STALE_MS; }, 1000);
