// The theme, light or dark: follows the system until the user chooses one. This script runs before the page is drawn.
"use strict";

const colours = (() => {
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  function choose(theme) {
    if (theme === "light" || theme === "dark") chosen = theme;
    document.documentElement.dataset.theme = chosen ?? (systemIsDark.matches ? "dark" : "light");
  }

  choose(new URLSearchParams(location.search).get("theme"));
  return { choose, isDark: () => document.documentElement.dataset.theme === "dark", systemIsDark };
})();
