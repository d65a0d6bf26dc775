// Reads a page for the web surfer, in one frame; all answers are the page's own words.
({ task, next = 10, most = 200, lines = 50, longest = 20000 }) => {
  const INTERACTIVE =
    "a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,[onclick]," +
    "[contenteditable]:not([contenteditable=false]),[tabindex]:not([tabindex^='-'])," +
    ["button", "link", "checkbox", "radio", "tab", "menuitem", "option", "switch", "combobox",
      "textbox", "searchbox", "slider"].map((role) => `[role=${role}]`).join(",");
  const ROLES = { A: "link", AREA: "link", BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox",
    SELECT: "combobox" };
  const INPUTS = { checkbox: "checkbox", radio: "radio", range: "slider", submit: "button",
    button: "button", reset: "button", image: "button", file: "file" };

  function* everything(root) {  // open shadow roots, too
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* everything(element.shadowRoot);
    }
  }
  const inView = (box) => box.width > 1 && box.height > 1 && box.bottom > 0 && box.right > 0 &&
    box.top < innerHeight && box.left < innerWidth;
  const boxes = (element) => [...element.getClientRects()].filter(inView).slice(0, 5);
  const style = (element) => getComputedStyle(element);
  const isPointer = (element) => !!element && style(element).cursor === "pointer";
  const scrolls = (element) => element.scrollHeight > element.clientHeight + 4 &&
    ["auto", "scroll"].includes(style(element).overflowY);
  function isOnTop(element, box) {
    const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
    const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
    let hit = document.elementFromPoint(x, y);
    for (let inner; (inner = hit?.shadowRoot?.elementFromPoint(x, y)) && inner !== hit;) hit = inner;
    for (let node = hit; node; node = node.parentNode ?? node.host)
      if (node === element || [...(element.labels ?? [])].includes(node)) return true;
    return false;
  }
  function labelOf(element) {
    const label = element.labels?.[0]?.cloneNode(true);
    label?.querySelectorAll("select,textarea,button").forEach((each) => each.remove());
    return label?.textContent;
  }
  function nameOf(element) {
    const ids = (element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
    const isButton = element.matches("input[type=submit],input[type=button],input[type=reset]");
    const words = [element.getAttribute("aria-label"),
      ids.map((id) => document.getElementById(id)?.innerText ?? "").join(" "),
      labelOf(element), isButton ? element.value : "",
      element.matches("select,textarea") ? "" : element.innerText, element.getAttribute("alt"),
      element.getAttribute("title"), element.getAttribute("placeholder"), element.getAttribute("name")];
    return (words.find((each) => each && each.trim()) ?? "").slice(0, 200);
  }
  const roleOf = (element) => element.getAttribute("role") ?? (element.tagName === "INPUT"
    ? INPUTS[element.type] ?? "textbox" : ROLES[element.tagName] ?? "");

  function rects() {
    const found = {}, taken = new Set();
    for (const element of everything(document)) {
      if (Object.keys(found).length >= most) break;
      const shown = boxes(element);
      if (!shown.length || style(element).visibility === "hidden") continue;
      const scrollable = element !== document.documentElement && element !== document.body &&
        scrolls(element);
      const wanted = element.matches(INTERACTIVE) || scrollable ||
        (isPointer(element) && !isPointer(element.parentElement));
      if (!wanted || !shown.some((box) => isOnTop(element, box))) continue;
      let id = Number(element.getAttribute("__elementId"));
      if (!Number.isInteger(id) || id < 10 || id >= next || taken.has(id)) {
        id = next++;
        element.setAttribute("__elementId", String(id));
      }
      taken.add(id);
      found[id] = { tag_name: element.tagName.toLowerCase(), role: roleOf(element),
        aria_name: nameOf(element), v_scrollable: scrollable,
        rects: shown.map((box) => ({ x: box.x, y: box.y, width: box.width, height: box.height,
          top: box.top, right: box.right, bottom: box.bottom, left: box.left })) };
    }
    return { found, next };
  }
  function visibleText() {
    const parts = [];
    let length = 0;
    for (const element of everything(document)) {
      for (const node of element.childNodes) {
        if (length > longest || node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        if (style(element).visibility === "hidden" || ![...range.getClientRects()].some(inView)) continue;
        parts.push(node.data.trim());
        length += node.data.length;
      }
    }
    return parts.join("\n").slice(0, longest);
  }
  const whole = document.documentElement, view = window.visualViewport;
  const tasks = {
    rects,
    text: () => (document.body?.innerText ?? "").slice(0, longest * 10).split("\n")
      .filter((line) => line.trim()).slice(0, lines).join("\n").slice(0, longest),
    visible: visibleText,
    html: () => whole.outerHTML.slice(0, 2000000),
    focused: () => document.activeElement?.getAttribute("__elementId") ?? null,
    viewport: () => ({ height: view.height, width: view.width, offsetLeft: view.offsetLeft,
      offsetTop: view.offsetTop, pageLeft: view.pageLeft, pageTop: view.pageTop, scale: view.scale,
      clientWidth: whole.clientWidth, clientHeight: whole.clientHeight,
      scrollWidth: whole.scrollWidth, scrollHeight: whole.scrollHeight }),
    metadata: () => ({
      meta_tags: Object.fromEntries([...document.querySelectorAll("meta[content]")].slice(0, 50)
        .map((tag) => [tag.getAttribute("name") ?? tag.getAttribute("property") ?? "", tag.content.slice(0, 500)])
        .filter(([name]) => name)),
      jsonld: [...document.querySelectorAll("script[type='application/ld+json']")].slice(0, 5)
        .map((script) => script.textContent.slice(0, 5000)),
    }),
  };
  return tasks[task]();
}
