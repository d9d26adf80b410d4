/* What every page does: times in the reader's own zone (on the dashboard they are the shop's), and forms that cannot be sent twice.
   Without it both still work. */

/* Dates and numbers by the rules that the shop itself writes them by: a page knows one order of day and month. */
const language = document.body.dataset.dates ?? document.documentElement.lang;
/* The page's own language, said with every question: a choice made in another tab does not mix two languages here. */
export const inLanguage = (url) => `${url}${url.includes("?") ? "&" : "?"}lang=${document.documentElement.lang}`;

const formats = {
  moment: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
  today: { hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  exact: { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" },
  day: { day: "numeric", month: "short", year: "numeric" },
};

/* A zone is called as it is where the reader lives: "EST" there, "GMT-5" elsewhere. */
function zoneName(at) {
  const tag = document.documentElement.lang;
  const own = new Intl.DateTimeFormat(navigator.language?.startsWith(tag) ? navigator.language : tag, { timeZoneName: "short" });
  return own.formatToParts(at).find(({ type }) => type === "timeZoneName").value;
}

/* <time datetime="…" data-local="moment|clock|second|exact|day">: the same moment where the reader is, with the zone named. */
export function localTimes(root = document) {
  if (document.documentElement.dataset.side === "seller") return; // one zone for all who work there: the shop's, as it was written
  for (const element of root.querySelectorAll("time[data-local]")) {
    const at = new Date(element.dateTime);
    let kind = element.dataset.local || "moment";
    let before = "";
    if (kind === "moment" && at.toDateString() === new Date().toDateString()) {
      kind = "today";
      before = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "day") + ", ";
    }
    const far = kind === "moment" && at.getFullYear() !== new Date().getFullYear() ? { year: "numeric" } : {};
    const parts = new Intl.DateTimeFormat(language, { ...formats[kind], ...far }).formatToParts(at);
    const text = before + parts.map(({ type, value }) => (type === "timeZoneName" ? zoneName(at) : value)).join("");
    if (element.textContent !== text) element.textContent = text;
  }
}

/* A form says that it is on its way, and is sent once. */
export function busy(form, yes) {
  for (const button of form.querySelectorAll("button[type=submit]")) {
    if (yes) button.setAttribute("aria-busy", "true");
    else button.removeAttribute("aria-busy");
    const idle = button.querySelector("[data-words-idle]");
    const working = button.querySelector("[data-words-busy]");
    if (idle && working) {
      idle.hidden = yes;
      working.hidden = !yes;
    }
  }
}

/* Plain forms leave the page: a second submit while the first is on its way is dropped. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-once]:not([hx-post])")) return;
  if (form.querySelector("[aria-busy]")) event.preventDefault();
  else busy(form, true);
});

/* Forms that htmx sends: busy from the tap to the answer; an answer that leads elsewhere keeps them busy until the page is gone. */
const formOf = (event) => event.target.closest?.("form[data-once][hx-post], form[data-buy]");
document.addEventListener("htmx:before:request", (event) => {
  const form = formOf(event);
  if (form) busy(form, true);
});
document.addEventListener("htmx:finally:request", (event) => {
  const form = formOf(event);
  if (form && !event.detail?.ctx?.hx?.redirect) busy(form, false);
});
document.addEventListener("htmx:after:swap", () => localTimes());

/* Back, out of the browser's memory: nothing is on its way any more. */
addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form").forEach((form) => busy(form, false));
});

/* A polite voice for screen readers; it never interrupts and never repeats itself. */
export function announce(text) {
  const announcer = document.querySelector("[data-announcer]");
  if (announcer && text && announcer.textContent !== text) announcer.textContent = text;
}

/* "{n} left", 7 -> "7 left" */
export const fill = (words, n) => (words ?? "").replace("{n}", Number(n).toLocaleString(language));

export const calm = matchMedia("(prefers-reduced-motion: reduce)");

localTimes();
