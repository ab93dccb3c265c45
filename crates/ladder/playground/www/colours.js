// Light or dark: as the system is, until somebody chooses. It runs before the page is drawn.
"use strict";

const colours = (() => {
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  function choose(wanted) {
    if (wanted === "light" || wanted === "dark") chosen = wanted;
    document.documentElement.dataset.theme = chosen ?? (systemIsDark.matches ? "dark" : "light");
  }

  choose(new URLSearchParams(location.search).get("theme"));
  return { choose, isDark: () => document.documentElement.dataset.theme === "dark", systemIsDark };
})();
