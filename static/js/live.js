/* A drop's public scene, kept true: a socket while there is one, a poll when there is none.
 *
 * The socket says the whole scene at once and again on every change; a message with a lower data-seq than the one on the page is
 * older and dropped. Where sockets are blocked the small stock document is asked for instead, and the scene is fetched when that
 * differs from the page. A tab that was in the background, or came back by the Back button, asks at once.
 */
import { forget, heard } from "./clock.js";
import { jittered, line } from "./line.js";
import { inLanguage } from "./page.js";

const POLL_MS = 2500; // between two polls without a socket
const ASK_TIMEOUT_MS = 5000;

/* slug: of the drop; show(html): called with every scene that may be newer; shown(): -> the scene's element on the page. */
export function follow(slug, show, shown) {
  const home = `/drops/${slug}`;
  let asking = null;

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

  const { alive } = line(`${home}/live`, show, () => {
    forget();
    ask();
  });

  function poll() {
    setTimeout(poll, jittered(POLL_MS));
    if (!document.hidden && !alive()) ask();
  }

  setTimeout(poll, jittered(POLL_MS)); // the page itself is fresh
  return { ask };
}
