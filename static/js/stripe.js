/* Stripe's card form on the order page. What is typed there never reaches this shop: Stripe turns it into a token that is good for one
   payment, and the form sends that in `payment_method`. The shop's worker makes the charge, so it stays under the shop's own key. */
import { busy } from "./page.js";

const LOOK = { light: "stripe", dark: "night" };
let loading; // of Stripe's script, once a page
let shown; // { place, elements, element }: the form that stands on the page

function stripe(place) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = place.dataset.script;
    script.onload = () => resolve(window.Stripe(place.dataset.key, { locale: document.documentElement.lang }));
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

async function show() {
  if (shown && !shown.place.isConnected) {
    shown.element.destroy();
    shown = undefined;
  }
  const place = document.querySelector("[data-card-form]");
  if (!place || place.dataset.cardForm) return;
  place.dataset.cardForm = "loading";
  try {
    const provider = await stripe(place);
    if (!place.isConnected) return;
    const { amount, currency } = place.dataset;
    const theme = LOOK[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
    const elements = provider.elements({ mode: "payment", amount: Number(amount), currency, paymentMethodTypes: ["card"], appearance: { theme } });
    const element = elements.create("payment");
    place.replaceChildren();
    element.mount(place);
    shown = { place, elements, element };
    place.dataset.cardForm = "shown";
  } catch {
    loading = undefined;
    place.dataset.cardForm = "";
    place.replaceChildren();
    say(place.closest("form"), document.querySelector("template[data-words-no-card-form]").content.textContent);
  }
}

/* The first tap asks Stripe for the token; with it the form is sent a second time, and goes its usual way. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const place = form.querySelector("[data-card-form]");
  const field = form.elements.payment_method;
  if (!place || field.value) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (form.querySelector("[aria-busy]")) return;
  if (shown?.place !== place) return void show();
  say(form, "");
  busy(form, true);
  const { token, problem } = await tokenOf(shown.elements).catch(() => ({ problem: document.querySelector("template[data-words-lost]").content.textContent }));
  if (!form.isConnected) return;
  busy(form, false);
  if (problem) return void say(form, problem);
  field.value = token;
  form.requestSubmit();
}, true);

async function tokenOf(elements) {
  const checked = await elements.submit();
  if (checked.error) return { problem: checked.error.message };
  const { error, confirmationToken } = await (await loading).createConfirmationToken({ elements });
  return error ? { problem: error.message } : { token: confirmationToken.id };
}

/* A token pays once: whatever became of it, the next tap gets another. */
document.addEventListener("htmx:finally:request", (event) => {
  const form = event.target.closest?.("form");
  if (form?.querySelector("[data-card-form]")) form.elements.payment_method.value = "";
});

addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form:has([data-card-form])").forEach((form) => { form.elements.payment_method.value = ""; });
});

function say(form, text) {
  const line = document.createElement("p");
  line.className = "problem";
  line.setAttribute("role", "alert");
  line.textContent = text.trim();
  form.querySelector("[data-said]").replaceChildren(...(text ? [line] : []));
}

document.addEventListener("htmx:after:swap", show);
show();
