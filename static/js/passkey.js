/* Passkeys: a form that asks the browser for one, to add it or to show it. Without this the forms stay hidden, and the code of the app
 * does the same.
 *
 * <form data-passkey="add|show" action="…" data-challenge="…" hidden> with what else is sent as its fields, and <p data-passkey-problem
 * role="alert" hidden>; data-words-cancelled, -known, -lost: what is said of the browser's own refusals.
 */
import { busy, inLanguage } from "./page.js";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const named = (known = []) => known.map((one) => ({ ...one, id: bytes(one.id) }));

/* What the shop says in JSON -> what the browser takes. */
function asked(options) {
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (options.user) publicKey.user = { ...options.user, id: bytes(options.user.id) };
  if (options.excludeCredentials) publicKey.excludeCredentials = named(options.excludeCredentials);
  if (options.allowCredentials) publicKey.allowCredentials = named(options.allowCredentials);
  return { publicKey };
}

/* What the browser answers -> what the shop reads. */
function answered({ id, rawId, type, response }) {
  const said = { clientDataJSON: text(response.clientDataJSON) };
  for (const part of ["attestationObject", "authenticatorData", "signature", "userHandle"])
    if (response[part]) said[part] = text(response[part]);
  if (response.getTransports) said.transports = response.getTransports();
  return { id, rawId: text(rawId), type, response: said };
}

async function tell(url, body) {
  const answer = await fetch(inLanguage(url), {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.detail), { isSaid: true });
  return said;
}

function wordsOf(error, { wordsCancelled, wordsKnown, wordsLost }) {
  if (error.isSaid) return error.message;
  if (error.name === "InvalidStateError") return wordsKnown;
  return error instanceof DOMException ? wordsCancelled : wordsLost;
}

async function ask(form) {
  const problem = form.querySelector("[data-passkey-problem]");
  problem.hidden = true;
  busy(form, true);
  try {
    const options = asked(await tell(form.dataset.challenge, {}));
    const credential = form.dataset.passkey === "add" ? await navigator.credentials.create(options) : await navigator.credentials.get(options);
    const { to } = await tell(form.getAttribute("action"), { ...Object.fromEntries(new FormData(form)), credential: answered(credential) });
    location.assign(to);
  } catch (error) {
    problem.textContent = wordsOf(error, form.dataset);
    problem.hidden = false;
    busy(form, false);
  }
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!form.querySelector("[aria-busy]")) ask(form);
    });
  }
}
