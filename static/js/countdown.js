/* Digits that count down by the shop's clock, and call back when they reach zero. */
import { deviceAheadSeconds, now } from "./clock.js";

export const LAST_SECONDS = 10;
const two = (n) => String(n).padStart(2, "0");

const DAYS_FROM_SECONDS = 2 * 86400;

/* 767 -> "12:47"; 3767 -> "1:02:47"; from two days on "46 days" */
export function short(seconds) {
  if (seconds >= DAYS_FROM_SECONDS) {
    const days = new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit: "day", unitDisplay: "long" });
    return days.format(Math.floor(seconds / 86400));
  }
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

function parts(seconds) {
  return {
    days: [Math.floor(seconds / 86400), seconds >= 86400],
    hours: [two(Math.floor(seconds / 3600) % 24), seconds >= 3600],
    minutes: [two(Math.floor(seconds / 60) % 60), true],
    seconds: [two(seconds % 60), seconds < 86400],
  };
}

const write = (element, text) => {
  if (element && element.textContent !== String(text)) element.textContent = text;
};

/* Draw the countdown to `opensAt` (ms, the shop's clock). -> milliseconds left, never below 0. */
export function draw(opensAt, root = document) {
  const left = Math.max(0, opensAt - now());
  const seconds = Math.ceil(left / 1000);
  for (const [unit, [text, shown]] of Object.entries(parts(seconds))) {
    for (const part of root.querySelectorAll(`[data-countdown] [data-unit="${unit}"]`)) {
      part.hidden = !shown;
      write(part.querySelector("b"), text);
    }
  }
  for (const element of root.querySelectorAll("[data-countdown-short]")) write(element, short(seconds));
  const digit = root.querySelector("[data-digit]");
  if (digit) {
    const shown = String(Math.min(seconds, LAST_SECONDS));
    if (digit.textContent !== shown) {
      digit.dataset.digits = shown.length;
      digit.replaceChildren(Object.assign(document.createElement("b"), { textContent: shown })); // a new element arrives once
    }
  }
  return left;
}

/* The line of the checklist that says whose clock counts. */
export function drawClockLine(root = document) {
  const line = root.querySelector("[data-clock]");
  const ahead = deviceAheadSeconds();
  if (!line || ahead === null) return;
  const size = Math.abs(ahead);
  if (size < 1) write(line, line.dataset.wordsRight);
  else write(line, line.dataset[ahead > 0 ? "wordsAhead" : "wordsBehind"].replace("{n}", size < 100 ? size.toFixed(1) : Math.round(size)));
}
