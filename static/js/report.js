/* The report prints itself when asked to; without this script the browser's own menu does. */
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
