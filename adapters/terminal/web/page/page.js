// Older browsers take no relative address for a socket.
const terminal = document.getElementById("terminal");
terminal.dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/socket";
// Keys go to the chat from its first picture on, without a click.
new MutationObserver(() => {
  if (document.body.classList.contains("-first-byte")) {
    document.querySelector(".xterm-helper-textarea")?.focus();
  }
}).observe(document.body, { attributeFilter: ["class"] });
