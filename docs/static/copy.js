// A button on every code block copies it: of a console block the commands without their prompts.
"use strict";

function textToCopy(block) {
  const lines = block.querySelector("pre").textContent.replace(/\n$/, "").split("\n");
  if (!block.closest(".highlight-console")) {
    return lines.join("\n");
  }
  const kept = [];
  let goesOn = false;
  for (const line of lines) {
    if (line.startsWith("$ ") || goesOn) {
      const command = goesOn ? line : line.slice(2);
      kept.push(command.replace(/\s+# exit code \d+$/, ""));
      goesOn = /\\$/.test(command);
    }
  }
  return kept.join("\n");
}

function addButton(block) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this block");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(textToCopy(block));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.appendChild(button);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("div.highlight").forEach(addButton);
});
