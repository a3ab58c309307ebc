// Links the markers in the chat to the abstracts beside it. Asks no server and keeps nothing.
(() => {
  "use strict";
  const PLACE = /^#cb-(?:turn-(\d+)|(\d+)-([cp]\d+))$/;
  const rule = document.head.appendChild(document.createElement("style"));
  let current = 0, newest = 0, opener = null;

  const sheet = () => matchMedia("(max-width: 860px)").matches;
  const smooth = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

  // Which question's evidence is shown is a rule of style, so that it outlives the page's own redrawing.
  function show(turn) {
    current = turn;
    rule.textContent = `#cb-turn-${turn} { display: block; }`;
  }

  // Scrolls the panel and nothing else: the chat stays where the reader is.
  function bring(element, behavior) {
    const panel = document.getElementById("cb-right");
    const top = element.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    panel.scrollTo({ top: panel.scrollTop + top - Math.min(120, panel.clientHeight / 4), behavior });
  }

  function point(link) {
    document.querySelectorAll(".cb-now").forEach((e) => e.classList.remove("cb-now"));
    link.classList.add("cb-now");
  }

  function open(link, byKeyboard) {
    const found = PLACE.exec(link.getAttribute("href") || "");
    if (!found) return false;
    show(Number(found[1] || found[2]));
    point(link);
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return true;
    const card = target.closest("details");
    if (card) card.open = true;
    if (found[3] && found[3][0] === "c")
      document.querySelectorAll(`mark.cb-${found[2]}-${found[3]}`).forEach((e) => e.classList.add("cb-now"));
    document.body.classList.add("cb-sheet");
    bring(target, sheet() ? "auto" : smooth());
    // The keyboard goes where the evidence is, and back with Escape; a mouse needs no such help.
    if (byKeyboard || sheet()) {
      opener = link;
      (card || document.getElementById("cb-right")).querySelector("summary")?.focus({ preventScroll: true });
    }
    return true;
  }

  function close() {
    document.body.classList.remove("cb-sheet");
    if (opener && opener.isConnected) opener.focus({ preventScroll: true });
    opener = null;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.cb-cite, a.cb-paper, a.cb-open");
    if (link && open(link, event.detail === 0)) event.preventDefault();
    if (event.target.closest?.(".cb-close")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (document.body.classList.contains("cb-sheet") || opener)) close();
  });

  // New evidence shows itself; a finished answer brings its first marked words into view.
  const drawn = new Set();
  function look() {
    const turns = [...document.querySelectorAll("#cb-evidence .cb-turn")];
    document.body.classList.toggle("cb-has-evidence", turns.length > 0);
    if (!turns.length) { newest = 0; drawn.clear(); return; }
    const last = turns[turns.length - 1];
    const number = Number(last.id.slice("cb-turn-".length));
    if (number !== newest) { newest = number; show(number); document.getElementById("cb-right").scrollTo({ top: 0 }); }
    const mark = last.querySelector("mark");
    if (mark && !drawn.has(number)) {
      drawn.add(number);
      if (current === number && !sheet()) requestAnimationFrame(() => bringIfHidden(mark));
    }
  }
  function bringIfHidden(mark) {
    const panel = document.getElementById("cb-right").getBoundingClientRect();
    if (mark.getBoundingClientRect().bottom > panel.bottom - 24) bring(mark, smooth());
  }

  // What the components don't say for themselves.
  function name() {
    const set = (id, attributes) => {
      const element = document.getElementById(id);
      if (element) for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    set("cb-status", { role: "status", "aria-live": "polite" });
    set("cb-right", { role: "region", "aria-label": "Evidence" });
    return set("cb-left", { role: "region", "aria-label": "Conversation" });
  }

  // While something goes on, its status counts the seconds, and screen readers wait for the answer's last form.
  let since = 0;
  function watch() {
    const status = document.getElementById("cb-status");
    const busy = status.innerText.trim().endsWith("…");
    if (busy && !since) since = Date.now();
    if (!busy) since = 0;
    const seconds = since ? Math.floor((Date.now() - since) / 1000) : 0;
    if (seconds > 1) status.dataset.seconds = `${seconds} s`;
    else delete status.dataset.seconds;
    document.querySelector("#cb-chat [role=log]")?.setAttribute("aria-busy", String(busy));
  }

  // A question leaves its box the moment it is sent; what was typed after it stays.
  function taken(question) {
    const box = document.querySelector("#cb-box textarea");
    if (!question || !box.value.startsWith(question)) return question;
    box.value = box.value.slice(question.length);
    box.dispatchEvent(new Event("input", { bubbles: true }));
    return question;
  }
  window.citebound = { taken };

  function start() {
    if (!name() || !document.getElementById("cb-evidence")) return void setTimeout(start, 60);
    new MutationObserver(look).observe(document.getElementById("cb-right"), { childList: true, subtree: true });
    look();
    setInterval(watch, 500);
  }
  start();
})();
