/*
Planning. Pictures are sent as they are dropped or chosen, with their progress, and stand in the form at once; rows of pictures move
without a round trip; leaving with something unsaved is asked about. Without this script the form's own buttons do all of it.
*/

const form = document.querySelector("[data-plan]");
const part = document.querySelector("[data-pictures]");
const words = part.dataset;
const shots = part.querySelector("[data-shots]");
const uploads = part.querySelector("[data-uploads]");
const zone = part.querySelector("[data-drop-zone]");
const file = part.querySelector("[data-file]");
const BYTES_MAX = 10 * 1024 * 1024;

/* What was typed and not saved. */
let unsaved = form.querySelector("[data-unsaved]").textContent !== "";
function change() {
  unsaved = true;
  form.querySelector("[data-unsaved]").textContent = form.dataset.wordsUnsaved;
}
form.addEventListener("input", (event) => event.target !== file && change());
form.addEventListener("submit", () => (unsaved = false));
addEventListener("beforeunload", (event) => unsaved && event.preventDefault());

/* Whoever lists countries sees the list. */
form.addEventListener("change", (event) => {
  if (event.target.name === "served") form.querySelector(".countries").open = event.target.value === "listed";
});

/* Rows: their numbers stand in names, ids and words. */
function renumber() {
  const rows = [...shots.children];
  rows.forEach((row, index) => {
    const number = index + 1;
    const before = row.dataset.number ?? row.querySelector("input[type=hidden]").name.split("-")[1];
    for (const element of row.querySelectorAll("*")) {
      for (const name of ["name", "id", "for", "value", "aria-label", "aria-describedby"]) {
        const value = element.getAttribute(name);
        if (value === null || (name === "value" && element.tagName === "INPUT")) continue;
        element.setAttribute(name, value.replace(before === "{n}" ? "{n}" : new RegExp(`(?<![\\w])${before}(?!\\w)`), number));
      }
    }
    const label = row.querySelector("label");
    label.textContent = label.textContent.replace(before === "{n}" ? "{n}" : new RegExp(`(?<!\\w)${before}(?!\\w)`), number);
    row.dataset.number = number;
    row.querySelector('[value^="picture-up"]').disabled = index === 0;
    row.querySelector('[value^="picture-down"]').disabled = index === rows.length - 1;
  });
}

shots.addEventListener("click", (event) => {
  const button = event.target.closest("button[value^=picture-]");
  if (!button) return;
  event.preventDefault();
  const row = button.closest("[data-shot]");
  const verb = button.value.split("-")[1];
  if (verb === "remove") row.remove();
  else if (verb === "up") row.previousElementSibling?.before(row);
  else row.nextElementSibling?.after(row);
  renumber();
  change();
  const next = verb === "remove" ? file : row.querySelector(`[value^="picture-${verb}"]:enabled`) ?? row.querySelector("button:enabled");
  next.focus();
});

/* Sending. */
zone.querySelector("[data-upload]").hidden = true;
zone.querySelector("[data-drag-hint]").hidden = false;
file.addEventListener("change", () => {
  for (const one of file.files) send(one);
  file.value = "";
});
for (const name of ["dragenter", "dragover"]) {
  zone.addEventListener(name, (event) => {
    event.preventDefault();
    zone.dataset.over = "";
  });
}
for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => delete zone.dataset.over);
zone.addEventListener("drop", (event) => {
  event.preventDefault();
  for (const one of event.dataTransfer.files) send(one);
});
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault()); /* beside the zone: not opened */

let sending = Promise.resolve(); /* one after the other: they stand in the order in which they were chosen */
function send(picture) {
  const line = document.createElement("li");
  const name = Object.assign(document.createElement("span"), { textContent: picture.name });
  const bar = Object.assign(document.createElement("progress"), { max: 100, value: 0 });
  bar.setAttribute("aria-label", picture.name);
  line.append(name, bar);
  uploads.append(line);
  sending = sending.then(() => sendOne(picture, name, bar, line));
}

function sendOne(picture, name, bar, line) {
  return new Promise((done) => {
    const failed = (why) => {
      bar.remove();
      name.dataset.failed = "";
      name.textContent = `${picture.name}: ${why || words.wordsFailed}`;
      done();
    };
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => {
      bar.value = (100 * event.loaded) / event.total;
      if (event.loaded === event.total) {
        bar.removeAttribute("value");
        name.textContent = `${picture.name}: ${words.wordsReading}`;
      }
    });
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        /* an answer of something between us: said as one that did not arrive */
      }
      if (request.status !== 201) return failed(answer.detail);
      add(answer);
      line.remove();
      done();
    });
    request.addEventListener("error", () => failed());
    request.open("POST", `/seller/pictures?lang=${document.documentElement.lang}`);
    request.setRequestHeader("Accept", "application/json");
    const body = new FormData();
    body.append("file", picture);
    request.send(body);
  });
}

function add(picture) {
  if ([...shots.querySelectorAll("input[type=hidden]")].some((hidden) => hidden.value === picture.hash)) return;
  const row = part.querySelector("[data-shot-template]").content.firstElementChild.cloneNode(true);
  row.querySelector("img").src = picture.thumbnail;
  row.querySelector("input[type=hidden]").value = picture.hash;
  shots.append(row);
  renumber();
  change();
  row.querySelector(".field__input").focus();
}
