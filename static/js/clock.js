/* The shop's clock in this browser.
 *
 * Every page and every push carries the shop's time. It is laid over performance.now(), which nobody can set, so a device clock
 * that is an hour off, or jumps, changes nothing. A message can only arrive late, never early: the largest of the last few
 * differences is the one that travelled fastest, and the one that is used.
 */
const SAMPLES_MAX = 8;
let samples = [];

/* serverTime: ISO text; at: when it arrived, on performance.now()'s scale. */
export function heard(serverTime, at = performance.now()) {
  const milliseconds = Date.parse(serverTime);
  if (Number.isNaN(milliseconds)) return;
  samples = [...samples, milliseconds - at].slice(-SAMPLES_MAX);
}

/* The machine may have slept, and performance.now() with it: what was heard before proves nothing. */
export function forget() {
  samples = [];
}

/* -> the shop's time, milliseconds since the epoch. */
export function now() {
  return samples.length ? Math.max(...samples) + performance.now() : Date.now();
}

/* -> how far the device is ahead (+) or behind (-), seconds; null before anything was heard. */
export function deviceAheadSeconds() {
  return samples.length ? (Date.now() - now()) / 1000 : null;
}

/* The page's own time left the server when its first byte did. */
export function pageArrivedAt() {
  const [page] = performance.getEntriesByType("navigation");
  return page?.responseStart || performance.now();
}

/* Back and Forward may show what the browser kept, however old it is. */
export function cameBack() {
  return performance.getEntriesByType("navigation")[0]?.type === "back_forward";
}
