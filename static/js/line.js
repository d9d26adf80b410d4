/* A page's line to the shop: a socket, dialled again whenever it is lost, each browser at its own moment.
 *
 * It is put down when the page is left (a page with an open socket cannot be kept for the Back button) and taken up again when the
 * page is looked at again: after a tab in the background, a freeze to spare the battery, the Back button, a network that is back.
 */
import { inLanguage } from "./page.js";

const RETRY_MS = 250; // first wait after a lost socket; doubles
const RETRY_MS_MAX = 3000;
const SILENCE_MS_MAX = 20_000; // a socket that says nothing for this long is dead: the shop promises a word every 15 s
const HANDSHAKE_MS_MAX = 8000; // a handshake may take this long before it counts as lost

export const jittered = (milliseconds) => milliseconds * (0.5 + Math.random());

/* path: of the socket; heard(text): every word; looked(): the page is looked at again, and what it shows may be old. */
export function line(path, heard, looked) {
  let socket = null;
  let tries = 0;
  let retryTimer = 0;
  let lastWord = 0;
  let dialledAt = 0;

  function dial() {
    clearTimeout(retryTimer);
    if (socket && socket.readyState <= WebSocket.OPEN) return;
    try {
      socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${inLanguage(path)}`);
    } catch {
      return; // no sockets here
    }
    const mine = socket;
    dialledAt = lastWord = performance.now();
    mine.addEventListener("message", (event) => {
      tries = 0;
      lastWord = performance.now();
      heard(event.data);
    });
    mine.addEventListener("close", () => {
      if (socket !== mine) return;
      socket = null;
      retryTimer = setTimeout(dial, jittered(Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries++)));
    });
  }

  /* -> is it there, and has it spoken lately? One that fell silent is hung up, and dialled again. */
  function alive() {
    const now = performance.now();
    if (socket?.readyState === WebSocket.OPEN && now - lastWord < SILENCE_MS_MAX) return true;
    if (socket?.readyState !== WebSocket.CONNECTING || now - dialledAt >= HANDSHAKE_MS_MAX) socket?.close();
    return false;
  }

  function resume() {
    tries = 0;
    dial();
    looked();
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) resume(); });
  document.addEventListener("resume", resume); // after the browser froze it
  addEventListener("pageshow", (event) => { if (event.persisted) resume(); });
  addEventListener("online", resume);
  addEventListener("pagehide", () => {
    clearTimeout(retryTimer);
    const closing = socket;
    socket = null;
    closing?.close();
  });

  dial();
  return { alive };
}
