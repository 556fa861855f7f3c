"""Is a report valid? check_page.py [--axe] PAGE...

html5lib parses each page without an error. In Chromium, at 390 and 1280 px, light and dark: no scroll
sideways, no message on the console, every picture has a size; with --axe no finding of axe-core of
WCAG 2.1 levels A and AA or of its best practices, every <details> open. Prints one line for a page."""
import glob
import html
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

import html5lib

PROBE = """<script>addEventListener("load", () => setTimeout(async () => {
  const bad = [...document.querySelectorAll("svg,canvas")].filter(x => x.checkVisibility() && x.getBoundingClientRect().width < 50).length;
  const out = { wide: document.documentElement.scrollWidth > innerWidth + 1, empty: bad, ground: getComputedStyle(document.body).backgroundColor, found: [], open: performance.getEntriesByType("navigation")[0].loadEventEnd };
  document.querySelectorAll("details").forEach(d => d.open = true);
  out.opened = document.documentElement.scrollWidth > innerWidth + 1;
  if (window.axe) out.found = (await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] })).violations.map(v => v.id + ": " + v.nodes[0].html.slice(0, 120));
  const p = document.createElement("pre"); p.id = "probe-out"; p.textContent = JSON.stringify(out); document.body.append(p);
}, 1200))</script></body>"""


def axe_source():
    folder = os.path.dirname(importlib.util.find_spec("axe_core_python").origin)
    with open(glob.glob(os.path.join(folder, "axe*.js"))[0], encoding="utf-8") as f:
        return "<script>" + f.read().replace("</script", "<\\/script") + "</script>"


opened = []  # milliseconds until the load event


def look(text, width, dark, axe, folder):
    path = os.path.join(folder, "probe.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("</body>", (axe_source() if axe else "") + PROBE))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               "--virtual-time-budget=20000", f"--window-size={width},900", "--dump-dom", "file://" + path]
    if dark:
        command.insert(1, "--blink-settings=preferredColorScheme=0")
    r = subprocess.run(command, capture_output=True, text=True, timeout=300)
    seen = re.search(r'<pre id="probe-out">(.*?)</pre>', r.stdout, re.S)
    if not seen:
        return ["the page did not answer: " + r.stderr[-300:]]
    out = json.loads(html.unescape(seen.group(1)))
    wrong = [line for line in r.stderr.splitlines() if "CONSOLE" in line] + out["found"]
    opened.append(out["open"])
    if out["wide"] or out["opened"]:
        wrong.append("scrolls sideways")
    if out["empty"]:
        wrong.append(f"{out['empty']} pictures without a size")
    if (out["ground"] == "rgb(255, 255, 255)") == dark:
        wrong.append("the wrong ground: " + out["ground"])
    return wrong


def check(path, axe, folder):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    parser = html5lib.HTMLParser()
    parser.parse(text)
    wrong = [f"line {at[0]}: {what}" for at, what, _ in parser.errors]
    if len(text.encode()) >= 500000:
        wrong.append(f"{len(text.encode())} bytes")
    looks = 0
    for width in (390, 1280) if axe else ():
        for dark in (False, True):
            wrong += [f"{width} px, {'dark' if dark else 'light'}: {w}" for w in look(text, width, dark, axe, folder)]
            looks += 1
    for w in wrong:
        print(f"{path}: {w}")
    quick = f", opened in {min(opened[-looks:]) / 1000:.2f} s" if looks and opened else ""
    print(f"{path}: {len(text.encode()) // 1000} kB, {len(wrong)} findings, {looks} looks{quick}")
    return bool(wrong)


def main():
    words = sys.argv[1:]
    axe = "--axe" in words
    with tempfile.TemporaryDirectory() as folder:
        return max([check(p, axe, folder) for p in words if p != "--axe"], default=0)


sys.exit(main())
