/* Time shown: two sliders set the viewBox of the plots of every panel and write their times anew. */
(() => {
  const box = document.getElementById('zoom'); if (!box) return;
  const [from, to] = box.querySelectorAll('input'), [a, b] = box.querySelectorAll('output');
  const panels = [...box.parentElement.querySelectorAll('.panel')].map(f => ({ f, t0: +f.dataset.from, t1: +f.dataset.to }));
  if (!panels.length) return;
  const longest = panels.reduce((x, p) => p.t1 - p.t0 > x.t1 - x.t0 ? p : x);
  const show = x => String(Number(x.toPrecision(4)));
  const step = range => { const raw = range / 5, size = 10 ** Math.floor(Math.log10(raw)), part = raw / size; return size * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10); };
  const ticks = (g, t0, t1) => {
    const d = step(t1 - t0), list = [];
    for (let t = Math.ceil(t0 / d) * d; t <= t1 + 1e-9 * d; t += d) {
      const e = document.createElementNS(g.namespaceURI, 'text');
      const x = 296 * Math.min(1, (t - t0) / (t1 - t0));
      e.setAttribute('x', 58 + x); e.setAttribute('y', 210); e.setAttribute('text-anchor', x > 284 ? 'end' : 'middle');
      e.textContent = show(Math.abs(t) < 1e-9 * d ? 0 : t); list.push(e);
    }
    g.replaceChildren(...list);
  };
  const set = moved => {
    if (+to.value < +from.value + 10) { if (moved === to) from.value = to.value - 10; else to.value = +from.value + 10; }
    const u = from.value / 1000, v = to.value / 1000, at = s => longest.t0 + s * (longest.t1 - longest.t0);
    a.textContent = show(at(u)); b.textContent = show(at(v));
    from.setAttribute('aria-valuetext', 'time ' + a.textContent); to.setAttribute('aria-valuetext', 'time ' + b.textContent);
    for (const p of panels) {
      const w = p.t1 - p.t0;
      for (const s of p.f.querySelectorAll('.z')) s.setAttribute('viewBox', `${3000 * u} 0 ${3000 * (v - u)} 600`);
      ticks(p.f.querySelector('.ticks'), p.t0 + u * w, p.t0 + v * w);
    }
  };
  from.addEventListener('input', () => set(from)); to.addEventListener('input', () => set(to));
  box.querySelector('button').addEventListener('click', () => { from.value = 0; to.value = 1000; set(); });
  box.hidden = false; set();
})();
