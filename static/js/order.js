/* The order page: the ring empties by the shop's clock, and the state is asked for again whenever it may have changed. */
import { cameBack, forget, heard, now, pageArrivedAt } from "./clock.js";
import { short } from "./countdown.js";
import { announce, calm, fill, inLanguage } from "./page.js";

const MARKS_SECONDS = [300, 60, 30]; // told to screen readers
const HURRY_SECONDS = 60;
const LOOK_MOVING_MS = 2000; // an order that moves by itself
const LOOK_RESTING_MS = 15_000; // one that rests: paid in another tab, refunded by the seller

const order = () => document.querySelector("[data-order-state]");
let mark = Infinity;
let ticked = false;
let timer = 0;
let state = order().dataset.orderState;

function tick() {
  clearTimeout(timer);
  const ring = document.querySelector("[data-ring]");
  if (!ring) return;
  const left = Math.max(0, Date.parse(ring.dataset.endsAt) - now());
  const seconds = Math.ceil(left / 1000);
  ring.querySelector(".ring__left").setAttribute("stroke-dashoffset", (100 - 100 * Math.min(1, left / 1000 / Number(ring.dataset.lastsSeconds))).toFixed(2));
  ring.querySelector("[data-ring-words]").textContent = short(seconds);
  ring.toggleAttribute("data-hurry", seconds <= HURRY_SECONDS);
  tell(seconds);
  if (left === 0) look();
  timer = setTimeout(tick, left > 0 ? (left % 1000) + 5 : 2000);
}

function tell(seconds) {
  const first = !ticked;
  ticked = true;
  const next = MARKS_SECONDS.findLast((one) => seconds <= one);
  if (next === undefined || next >= mark) return;
  mark = next;
  if (first && seconds !== next) return; // the page was opened between two marks
  const words = document.querySelector("[data-announcer]").dataset;
  announce(next >= 60 ? fill(words.wordsMinutes, next / 60) : fill(words.wordsSeconds, next));
}

/* A fault while paying or giving back is said beside the button; the order stays on the page. */
document.addEventListener("htmx:before:swap", (event) => {
  const form = event.target.closest?.("form[data-once]");
  const text = event.detail?.ctx?.text ?? "";
  if (!form || text.includes("data-order-state")) return;
  event.preventDefault();
  say(form, text);
});
document.addEventListener("htmx:error", (event) => {
  const form = event.target.closest?.("form[data-once]");
  if (form) say(form, document.querySelector("template[data-words-lost]").innerHTML);
});

function say(form, html) {
  form.querySelector("[data-said]")?.replaceChildren(document.createRange().createContextualFragment(html));
}

/* Ask for the state once. What the buyer is doing on the page (a chosen card, an opened question) is left alone unless it changed. */
async function look() {
  const answer = await fetch(inLanguage(order().dataset.status), { headers: { "HX-Request": "true", "HX-Request-Type": "partial" }, cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const html = await answer.text();
  const fresh = document.createRange().createContextualFragment(html).querySelector("[data-order-state]");
  if (!fresh) return;
  heard(fresh.dataset.serverTime);
  const shown = order();
  if (fresh.dataset.orderVersion === shown.dataset.orderVersion || shown.querySelector("[aria-busy]")) return;
  await htmx.swap({ sourceElement: shown, target: shown, text: html, swap: "outerHTML" });
}

document.addEventListener("htmx:after:swap", () => {
  const shown = order();
  if (!shown) return;
  heard(shown.dataset.serverTime);
  if (shown.dataset.orderState !== state) {
    state = shown.dataset.orderState;
    const notice = shown.querySelector("[data-notice]");
    announce(notice?.textContent.trim().replace(/\s+/g, " ") || shown.querySelector("h1")?.textContent);
    notice?.scrollIntoView({ block: "center", behavior: calm.matches ? "instant" : "smooth" }); // it stands above what was tapped
  }
  tick();
  keepLooking();
});

function resume() {
  forget();
  look();
  tick();
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) resume(); });
document.addEventListener("resume", resume); // after the browser froze it
addEventListener("pageshow", (event) => { if (event.persisted) resume(); });

let looking = 0;
function keepLooking() {
  clearTimeout(looking);
  looking = setTimeout(async () => {
    if (!document.hidden) await look();
    keepLooking();
  }, order().dataset.orderMoving === "yes" ? LOOK_MOVING_MS : LOOK_RESTING_MS);
}
keepLooking();

heard(order().dataset.serverTime, pageArrivedAt());
tick();
if (cameBack()) look();
