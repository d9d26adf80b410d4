/* A drop's public scene, kept true: a socket while there is one, a poll when there is none.
 *
 * The socket says the whole scene at once and again on every change; a message with a lower data-seq than the one on the page is
 * older and dropped. A lost socket comes back within seconds, each browser at its own moment. Where sockets are blocked the small
 * stock document is asked for instead, and the scene is fetched when that differs from the page. A tab that was in the background,
 * or came back by the Back button, asks at once.
 */
import { forget, heard } from "./clock.js";
import { inLanguage } from "./page.js";

const RETRY_MS = 250; // first wait after a lost socket; doubles
const RETRY_MS_MAX = 3000;
const POLL_MS = 2500; // between two polls without a socket
const SILENCE_MS_MAX = 20_000; // a socket that says nothing for this long is dead: the shop promises a word every 15 s
const ASK_TIMEOUT_MS = 5000;
const HANDSHAKE_MS_MAX = 8000; // a handshake may take this long before it counts as lost

const jittered = (milliseconds) => milliseconds * (0.5 + Math.random());

/* slug: of the drop; show(html): called with every scene that may be newer; shown(): -> the scene's element on the page. */
export function follow(slug, show, shown) {
  const home = `/drops/${slug}`;
  let socket = null;
  let tries = 0;
  let retryTimer = 0;
  let pollTimer = 0;
  let lastWord = performance.now();
  let dialledAt = 0;
  let asking = null;

  function connect() {
    clearTimeout(retryTimer);
    if (socket && socket.readyState <= WebSocket.OPEN) return;
    try {
      socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${inLanguage(`${home}/live`)}`);
    } catch {
      return;
    }
    const mine = socket;
    dialledAt = lastWord = performance.now();
    mine.addEventListener("message", (event) => {
      tries = 0;
      lastWord = performance.now();
      show(event.data);
    });
    mine.addEventListener("close", () => {
      if (socket !== mine) return;
      socket = null;
      retryTimer = setTimeout(connect, jittered(Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries++)));
    });
  }

  const connected = () => socket !== null && socket.readyState === WebSocket.OPEN && performance.now() - lastWord < SILENCE_MS_MAX;

  const dialling = () => socket?.readyState === WebSocket.CONNECTING && performance.now() - dialledAt < HANDSHAKE_MS_MAX;

  /* Ask once, whatever the socket says. Several callers share one question. */
  function ask() {
    asking ??= question().catch(() => {}).finally(() => { asking = null; });
    return asking;
  }

  async function question() {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const answer = await fetch(`${home}/stock`, { headers: { Accept: "application/json" }, signal, cache: "no-store" });
    if (!answer.ok) return;
    const stock = await answer.json();
    heard(stock.server_time);
    const scene = shown();
    const units = (name) => stock.variants.reduce((sum, variant) => sum + variant[name], 0);
    const same = scene.dataset.phase === stock.phase && Number(scene.dataset.left) === units("left") && Number(scene.dataset.held) === units("held");
    if (same) return;
    const page = await fetch(inLanguage(home), { headers: { "HX-Request": "true", "HX-Request-Type": "partial" }, signal, cache: "no-store" });
    if (page.ok) show(await page.text());
  }

  function poll() {
    clearTimeout(pollTimer);
    pollTimer = setTimeout(poll, jittered(POLL_MS));
    if (document.hidden || connected()) return;
    if (!dialling()) socket?.close(); // silent for too long
    ask();
  }

  function resume() {
    forget();
    tries = 0;
    connect();
    ask();
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) resume(); });
  document.addEventListener("resume", resume); // after the browser froze it, to spare the battery
  addEventListener("pageshow", (event) => { if (event.persisted) resume(); });
  addEventListener("online", resume);
  addEventListener("pagehide", () => { // a page with an open socket cannot be kept for the Back button
    clearTimeout(retryTimer);
    const closing = socket;
    socket = null;
    closing?.close();
  });

  connect();
  pollTimer = setTimeout(poll, jittered(POLL_MS)); // the page itself is fresh
  return { ask };
}
