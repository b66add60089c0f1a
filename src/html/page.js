"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const items = [...document.querySelectorAll(".item")];
  const sections = [...document.querySelectorAll("section")];
  const filter = document.querySelector("nav > input");

  // What stands where, by name: made for a section when it is shown first.
  const indices = new Map();
  const NAMES = ["d", "u", "s", "in", "b", "k", "o", "e"];
  function indexOf(section) {
    let index = indices.get(section);
    if (index) return index;
    index = {};
    for (const name of NAMES) {
      index[name] = new Map();
      for (const element of section.querySelectorAll(`[data-${name}]`)) {
        for (const key of element.getAttribute(`data-${name}`).split(" ")) {
          if (!index[name].has(key)) index[name].set(key, []);
          index[name].get(key).push(element);
        }
      }
    }
    indices.set(section, index);
    return index;
  }

  let here = null;
  let lit = [];
  let pinned = null;

  function clear() {
    for (const [element, name] of lit) element.classList.remove(name);
    lit = [];
  }

  function light(elements, name) {
    for (const element of elements || []) {
      element.classList.add(name);
      lit.push([element, name]);
    }
  }

  function show(target) {
    clear();
    if (!target || !here) return;
    const index = indexOf(here);
    if (target.value !== undefined) {
      const rows = index.s.get(target.value) || [];
      light(rows, "lit-row");
      light(index.d.get(target.value), "lit-def");
      light(index.u.get(target.value), "lit-use");
      // What it was made from, and what was made from it.
      const origins = new Set(rows.map((row) => row.dataset.o).filter(Boolean));
      for (const origin of origins) light(index.s.get(origin), "lit-origin");
      light(index.o.get(target.value), "lit-origin");
    }
    if (target.block !== undefined) {
      light(index.in.get(target.block), "lit-in");
      light(index.b.get(target.block), "lit-block");
      light(index.k.get(target.block), "lit-block");
      light(index.e.get(target.block), "lit-edge");
    }
    if (target.edge !== undefined) {
      light([target.edge], "lit-edge");
      for (const block of target.edge.dataset.e.split(" ")) light(index.b.get(block), "lit-block");
    }
  }

  // What an element means: a value, a block or an edge.
  function meaning(element) {
    const found = element.closest && element.closest("[data-u],[data-d],[data-k],[data-b],[data-s],[data-e],[data-in]");
    if (!found || !here || !here.contains(found)) return null;
    const data = found.dataset;
    if (data.u !== undefined || data.d !== undefined) return { value: data.u ?? data.d, element: found };
    if (data.k !== undefined || data.b !== undefined) return { block: data.k ?? data.b, element: found };
    if (data.s !== undefined) return { value: data.s, element: found };
    if (data.e !== undefined) return { edge: found, element: found };
    return { block: data.in, element: found };
  }

  // A name shows its definition as a tooltip.
  function explain(target) {
    if (!target || !target.value || target.element.title || !target.element.dataset.u) return;
    const index = indexOf(here);
    const row = (index.s.get(target.value) || index.d.get(target.value) || [])[0];
    if (row && target.element instanceof HTMLElement) target.element.title = row.textContent.replace(/^[^%]*(?=%)/, "").trim();
  }

  document.addEventListener("mouseover", (event) => {
    if (pinned) return;
    const target = meaning(event.target);
    explain(target);
    show(target);
  });
  document.addEventListener("click", (event) => {
    const zoom = event.target.closest("[data-zoom]");
    if (zoom) return scale(zoom.closest(".panel").querySelector(".cfg"), zoom.dataset.zoom);
    if (event.target.closest("nav")) return;
    if (String(window.getSelection())) return;
    const target = meaning(event.target);
    pinned = target && !(pinned && same(pinned, target)) ? target : null;
    show(target);
    if (pinned) reveal(event.target);
  });

  function same(a, b) {
    return a.value === b.value && a.block === b.block && a.edge === b.edge;
  }

  // Brings what lit up into view in the other panels.
  function reveal(from) {
    const panel = from.closest(".panel");
    for (const other of here.querySelectorAll(".panel")) {
      if (other === panel) continue;
      const first = lit.map(([element]) => element).find((element) => other.contains(element));
      if (first) first.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  document.addEventListener("focusin", (event) => {
    if (pinned || !event.target.matches(".box")) return;
    show(meaning(event.target));
  });

  function scale(svg, how) {
    if (!svg) return;
    const natural = svg.viewBox.baseVal;
    const canvas = svg.closest(".canvas");
    const inside = canvas.clientWidth - 16;
    let factor = svg.getAttribute("width") / natural.width;
    if (how === "fit") factor = Math.min(1, inside / natural.width, (canvas.clientHeight - 16) / natural.height);
    if (how === "start") factor = Math.max(0.75, Math.min(1, inside / natural.width));
    if (how === "in") factor = Math.min(4, factor * 1.25);
    if (how === "out") factor = Math.max(0.1, factor / 1.25);
    svg.setAttribute("width", natural.width * factor);
    svg.setAttribute("height", natural.height * factor);
    const entry = svg.querySelector(".box");
    if (how !== "start" || !entry) return;
    // What does not fit begins with the entry.
    const box = entry.getBBox();
    const at = entry.transform.baseVal.consolidate().matrix.e + box.width / 2;
    canvas.scrollLeft = at * factor - inside / 2;
  }

  function pick(section) {
    if (!section || section === here) return;
    pinned = null;
    clear();
    if (here) here.classList.remove("here");
    here = section;
    here.classList.add("here");
    for (const item of items) {
      const chosen = item.getAttribute("href") === `#${section.id}`;
      item.classList.toggle("here", chosen);
      if (chosen) item.scrollIntoView({ block: "nearest" });
    }
    if (!section.dataset.scaled) {
      section.dataset.scaled = "yes";
      for (const svg of section.querySelectorAll(".cfg")) scale(svg, "start");
    }
  }

  function picked() {
    return document.getElementById(location.hash.slice(1));
  }

  function step(by) {
    const shown = items.filter((item) => !item.parentElement.hidden);
    const at = shown.findIndex((item) => item.classList.contains("here"));
    const next = shown[Math.max(0, Math.min(shown.length - 1, at + by))];
    if (next) location.hash = next.getAttribute("href");
  }

  // The next row of a listing with a statement.
  function move(listing, by) {
    const rows = [...listing.querySelectorAll(".row[data-s]")];
    const at = rows.findIndex((row) => pinned && row.dataset.s === pinned.value);
    const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    if (!row) return;
    pinned = { value: row.dataset.s, element: row };
    show(pinned);
    row.scrollIntoView({ block: "nearest" });
    reveal(row);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === filter) {
      if (event.key === "Escape") filter.blur();
      return;
    }
    const listing = event.target.closest && event.target.closest(".listing");
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && (listing || pinned)) {
      move(listing || pinned.element.closest(".listing") || here.querySelector(".listing"), by);
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    } else if (event.key === "Escape") {
      pinned = null;
      show(null);
    } else if ((event.key === "Enter" || event.key === " ") && event.target.matches(".box")) {
      pinned = meaning(event.target);
      show(pinned);
      reveal(event.target);
    } else if (event.key === "/" && !filter.hidden) {
      filter.focus();
    } else {
      return;
    }
    event.preventDefault();
  });

  filter.hidden = items.length < 12;
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const item of items) item.parentElement.hidden = !item.textContent.toLowerCase().includes(wanted);
  });
  window.addEventListener("hashchange", () => pick(picked()));

  // Before and after scroll together.
  document.addEventListener("scroll", (event) => {
    const listing = event.target;
    if (!listing.matches || !listing.matches(".listing")) return;
    const panels = listing.closest(".panels");
    if (!panels || !panels.querySelector(".row.gap, .row.changed, .row.gone, .row.added")) return;
    for (const other of panels.querySelectorAll(".listing")) {
      if (other.scrollTop !== listing.scrollTop) other.scrollTop = listing.scrollTop;
    }
  }, true);

  pick(picked() || sections[0]);

  // With #selftest the page points at a value itself, and says what lit up: so that a test can look.
  if (location.hash === "#selftest") {
    const index = indexOf(here);
    const over = (element) => element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    const key = [...index.u.keys()].find((key) => index.s.has(key));
    const use = index.u.get(key)[0];
    over(use);
    const count = (name) => here.querySelectorAll(`.${name}`).length;
    root.dataset.testKey = key;
    root.dataset.testSection = here.id;
    root.dataset.testDefinitions = count("lit-def");
    root.dataset.testUses = count("lit-use");
    root.dataset.testRows = count("lit-row");
    use.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    over(document.body);
    root.dataset.testPinned = count("lit-use");
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    root.dataset.testReleased = count("lit-use");
    const block = here.querySelector(".box");
    over(block);
    root.dataset.testBlock = block.dataset.b;
    root.dataset.testBlockRows = count("lit-in");
    root.dataset.testBoxes = here.querySelectorAll(".box.lit-block").length;
    over(use);
  }
})();
