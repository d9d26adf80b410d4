/*
Race control, kept true: a socket while there is one, a poll when there is none. Every push is the whole fragment; an older one is
dropped by its time. What can be done stands outside of it and follows data-controls, so that no push moves a button that is being held.
*/
import { inLanguage, localTimes } from "./page.js";

const RETRY_MS = 500; // first wait after a lost socket; doubles
const RETRY_MS_MAX = 5000;
const POLL_MS = 4000; // between two polls without a socket
const STALE_MS = 8000; // no news for this long is said
const ASK_TIMEOUT_MS = 5000;

const home = location.pathname;
const watch = () => document.getElementById("watch");
const stale = document.querySelector("[data-stale]");
let socket = null;
let tries = 0;
let retryTimer = 0;
let lastNews = performance.now();

async function show(html) {
  const parsed = document.createRange().createContextualFragment(html).querySelector("#watch");
  if (!parsed || parsed.dataset.at < watch().dataset.at) return;
  lastNews = performance.now();
  stale.hidden = true;
  for (const open of watch().querySelectorAll("details[open]")) parsed.querySelector(`#${open.id}`)?.setAttribute("open", "");
  localTimes(parsed);
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

function connect() {
  clearTimeout(retryTimer);
  if (socket && socket.readyState <= WebSocket.OPEN) return;
  const mine = socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${inLanguage(`${home}/socket`)}`);
  mine.addEventListener("message", (event) => {
    tries = 0;
    queue(event.data);
  });
  mine.addEventListener("close", () => {
    if (socket !== mine) return;
    socket = null;
    retryTimer = setTimeout(connect, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries++) * (0.5 + Math.random()));
  });
}

async function ask() {
  const headers = { "HX-Request": "true", "HX-Request-Type": "partial" };
  const answer = await fetch(inLanguage(home), { headers, signal: AbortSignal.timeout(ASK_TIMEOUT_MS), cache: "no-store" });
  if (answer.redirected || answer.headers.has("hx-redirect")) location.reload(); // signed out meanwhile
  else if (answer.ok) queue(await answer.text());
}

setInterval(() => {
  if (!document.hidden && socket?.readyState !== WebSocket.OPEN) ask().catch(() => {});
}, POLL_MS);
setInterval(() => { stale.hidden = performance.now() - lastNews < STALE_MS; }, 1000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) { tries = 0; connect(); } });
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
addEventListener("pagehide", () => { // a page with an open socket cannot be kept for the Back button
  clearTimeout(retryTimer);
  const closing = socket;
  socket = null;
  closing?.close();
});

connect();
