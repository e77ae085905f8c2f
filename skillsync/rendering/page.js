"use strict";
(() => {
  const help = document.getElementById("help");
  const position = document.getElementById("position");
  const DIFFERENCES = ".change";
  const PLACES = ".skill > h2, .file > summary";

  // The bar with the file's name stays in sight: what is gone to begins below it.
  function show(target) {
    const bar = target.closest(".file > :not(summary)")?.parentElement.firstElementChild;
    if (bar) target.style.scrollMarginTop = `${bar.offsetHeight + 4}px`;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  }

  // From where the focus is: what follows it, or what is before it. What is folded can't be gone to.
  function go(selector, step, name) {
    const places = [...document.querySelectorAll(selector)].filter((place) => place.checkVisibility());
    const here = document.activeElement;
    let at = -1;
    if (here !== document.body) {
      at = places.findLastIndex((place) => place === here || place.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING);
    }
    const next = step > 0 || places[at] === here ? at + step : at;
    if (next < 0 || next >= places.length) return;
    show(places[next]);
    position.textContent = `${name} ${next + 1} of ${places.length}`;
  }

  const KEYS = {
    j: () => go(DIFFERENCES, 1, "difference"),
    n: () => go(DIFFERENCES, 1, "difference"),
    k: () => go(DIFFERENCES, -1, "difference"),
    p: () => go(DIFFERENCES, -1, "difference"),
    "]": () => go(PLACES, 1, "file or skill"),
    "[": () => go(PLACES, -1, "file or skill"),
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || help.open || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // A link to a line unfolds what it lies in.
  function unfold() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let one = target.parentElement; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    show(target);
  }
  addEventListener("hashchange", unfold);
  unfold();

  const keys = document.getElementById("keys");
  keys.hidden = false;
  keys.addEventListener("click", () => help.showModal());
  document.getElementById("close").addEventListener("click", () => help.close());
})();
