/*
Hold to confirm. <form method="post" data-hold> with one submit button <button data-hold-button>: pressing it for HOLD_MS sends the
form with sure=yes; letting go earlier sends nothing and says what to do. Pointer, touch and keyboard (Enter, Space) hold alike.
A click that nobody held (a screen reader's, a voice's) and a page without this script send the form without `sure`: the shop then
asks on a page of its own. Works with plain forms and with htmx, and for fragments that arrive later.
*/

const HOLD_MS = 1000;
const SAID_MS = 4000;
const KEYS = new Set(["Enter", " "]);

let held = null; // {button, timer, key}

const buttonOf = (event) => event.target.closest?.("[data-hold-button]:not([aria-busy])");

function begin(button, key = null) {
  if (held) return;
  forget(button.form);
  button.dataset.holding = "";
  held = { button, key, timer: setTimeout(() => finish(button), HOLD_MS) };
}

function finish(button) {
  release();
  const sure = Object.assign(document.createElement("input"), { type: "hidden", name: "sure", value: "yes" });
  button.form.append(sure);
  button.form.requestSubmit(button);
}

/* The next press asks again. */
function forget(form) {
  form.querySelectorAll("input[name=sure]").forEach((sure) => sure.remove());
}

function release() {
  if (!held) return;
  clearTimeout(held.timer);
  delete held.button.dataset.holding;
  held = null;
}

function letGo() {
  if (!held) return;
  const { button } = held;
  release();
  const hint = button.form.querySelector("[data-hold-hint]");
  if (!hint) return;
  hint.textContent = button.dataset.words;
  setTimeout(() => (hint.textContent = ""), SAID_MS);
}

document.addEventListener("pointerdown", (event) => {
  const button = buttonOf(event);
  if (button && event.isPrimary && event.button === 0) begin(button);
});
for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, letGo);
document.addEventListener("pointermove", (event) => {
  if (held && held.key === null && buttonOf(event) !== held.button) letGo();
});
document.addEventListener("contextmenu", (event) => {
  if (buttonOf(event)) event.preventDefault(); /* a long touch is ours */
});
document.addEventListener("keydown", (event) => {
  const button = buttonOf(event);
  if (!button || !KEYS.has(event.key)) return;
  event.preventDefault();
  if (!event.repeat) begin(button, event.key);
});
document.addEventListener("keyup", (event) => {
  if (held && held.key === event.key) {
    event.preventDefault();
    letGo();
  }
});
document.addEventListener("focusout", (event) => {
  if (event.target === held?.button) letGo(); /* pressing takes the focus from another field first */
});
document.addEventListener("visibilitychange", letGo);

/* A pointer's own click comes after its press and says nothing new; one without a press is somebody who cannot hold. */
document.addEventListener("click", (event) => {
  const button = buttonOf(event);
  if (!button) return;
  if (event.detail > 0) event.preventDefault();
  else forget(button.form);
});
