// Looks at the page again when the server says that something has happened. Without this script a reload does the same.
"use strict";
(() => {
  const source = document.body.dataset.live;
  if (!source || !window.EventSource) return;
  const note = document.querySelector("p.live");
  let seen = null;
  let due = false;
  let busy = false;

  // Whoever is writing into a form, or has one open, must not lose it.
  const changed = (field) =>
    field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.value !== field.defaultValue;
  const occupied = () => {
    const here = document.activeElement;
    return Boolean(
      (here && here.matches("main select")) ||
        [...document.querySelectorAll("main input:not([type=hidden]), main textarea")].some(changed) ||
        document.querySelector("main details.action[open]"),
    );
  };

  const tell = (words) => {
    if (!note) return;
    note.hidden = !words;
    note.textContent = words;
  };

  const refresh = async () => {
    if (busy) return;
    if (occupied()) {
      due = true;
      tell("Something has changed. The page is shown anew when you are done.");
      return;
    }
    busy = true;
    due = false;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (answer.status === 401) {
        location.reload();
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      const old = document.querySelector("main");
      if (!fresh || !old) return;
      // Somebody may have begun to write while the answer was on its way.
      if (occupied()) {
        due = true;
        return;
      }
      // What was unfolded stays so, and the place where somebody was is found again.
      const open = [...old.querySelectorAll("details")].map((one) => one.open);
      const focused = document.activeElement && document.activeElement.getAttribute("href");
      fresh.querySelectorAll("details").forEach((one, at) => { if (open[at] !== undefined) one.open = open[at]; });
      old.replaceChildren(...fresh.childNodes);
      if (focused) {
        const again = [...old.querySelectorAll("a[href]")].find((one) => one.getAttribute("href") === focused);
        if (again) again.focus({ preventScroll: true });
      }
      tell("");
    } catch {
      tell("The server does not answer. The page may be out of date.");
    } finally {
      busy = false;
    }
  };

  const events = new EventSource(source);
  events.addEventListener("at", (event) => {
    // The first one may come after a change that the page does not show yet; whoever writes already is not told of what may be none.
    if (seen === null ? !occupied() : seen !== event.data) refresh();
    seen = event.data;
  });
  events.addEventListener("open", () => tell(""));
  events.addEventListener("error", () => tell("The connection is gone. Trying again."));
  document.addEventListener("focusout", () => setTimeout(() => { if (due) refresh(); }, 0));
  document.addEventListener("toggle", () => { if (due) refresh(); }, true);
  // Ages grow, too.
  setInterval(() => { if (!document.hidden) refresh(); }, 60000);
})();
