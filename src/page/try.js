/* The model in the page: sliders, a run, its laws. `info` and `Model` come from the exported module above. */
(() => {
  const box = document.getElementById('try'); if (!box) return;
  const ranges = JSON.parse(document.getElementById('try-ranges').textContent);
  const form = box.querySelector('.controls'), warn = box.querySelector('.warn'), say = box.querySelector('.laws');
  const canvas = box.querySelector('canvas.plot'), choose = box.querySelector('select');
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const sliders = [];
  const show = x => Number(x).toPrecision(4);
  const add = (kind, name, unit, value, low, high) => {
    const l = document.createElement('label'), n = document.createElement('span'), r = document.createElement('input'), o = document.createElement('output');
    n.textContent = name + (unit ? ' [' + unit + ']' : '');
    r.type = 'range'; r.min = low; r.max = high; r.step = 'any'; r.value = value;
    r.setAttribute('aria-label', kind + ' ' + name);
    o.textContent = show(value);
    const s = { kind, name, r, value };
    r.addEventListener('input', () => { s.value = Number(r.value); o.textContent = show(r.value); check(); });
    l.append(n, r, o); place.append(l); sliders.push(s);
  };
  let place = form;
  if (info.states.length > 12) { /* a field in space: its cells are shown on request */
    const d = document.createElement('details'), h = document.createElement('summary');
    h.textContent = 'The start of ' + info.states.length + ' states'; d.append(h); form.append(d); place = d;
  }
  const span = (v, lo, hi) => [Number.isFinite(lo) ? lo : v - Math.max(1, 2 * Math.abs(v)), Number.isFinite(hi) ? hi : v + Math.max(1, 2 * Math.abs(v))];
  const seen = Object.fromEntries(ranges.map(r => [r.name, r]));
  for (const s of info.states) {
    let [lo, hi] = span(s.start, s.low ?? NaN, s.high ?? NaN); const r = seen[s.name];
    if (r) { const w = (r.high - r.low) / 2; lo = Math.max(lo, r.low - w); hi = Math.min(hi, r.high + w); }
    const eps = (hi - lo) * 1e-3; add('start', s.name, s.unit, s.start, lo + eps, hi - eps);
  }
  place = form;
  for (const p of info.parameters || []) { const w = Math.abs(p.value) || 1; add('parameter', p.name, p.unit, p.value, p.value > 0 ? p.value / 4 : p.value - w, p.value > 0 ? p.value * 4 : p.value + w); }
  for (const u of info.inputs || []) { const v = u.value || 0, w = Math.max(1, Math.abs(v)); add('input', u.name, u.unit, v, v - 2 * w, v + 2 * w); }
  for (const c of info.columns) if (c.name !== 'time') { const o = document.createElement('option'); o.value = o.textContent = c.name; choose.append(o); }
  const check = () => {
    const out = sliders.filter(s => s.kind === 'start' && seen[s.name] && (s.value < seen[s.name].low || s.value > seen[s.name].high)).map(s => s.name);
    warn.textContent = out.length ? 'Outside the range it was learned in: ' + out.join(', ') + '. The laws still hold; the motion is extrapolated.' : '';
  };
  let rows = [], timer = 0, runs = 0;
  const sketch = makeSketch(box.querySelector('.sketch'), info.columns.map(c => c.name), still);
  const draw = () => {
    const g = canvas.getContext('2d'), W = canvas.width = canvas.clientWidth * devicePixelRatio, H = canvas.height = canvas.clientHeight * devicePixelRatio;
    const k = info.columns.findIndex(c => c.name === choose.value), css = getComputedStyle(document.documentElement);
    g.clearRect(0, 0, W, H); if (rows.length < 2 || k < 0) return;
    let lo = Infinity, hi = -Infinity; for (const r of rows) { if (r[k] < lo) lo = r[k]; if (r[k] > hi) hi = r[k]; }
    if (!(hi > lo)) { hi = lo + 1; lo -= 1; }
    const t1 = Math.max(rows[rows.length - 1][0], 1e-300);
    g.strokeStyle = css.getPropertyValue('--c0'); g.lineWidth = 2 * devicePixelRatio; g.beginPath();
    for (const r of rows) { const x = W * (0.06 + 0.92 * r[0] / t1), y = H * (0.92 - 0.84 * (r[k] - lo) / (hi - lo)); if (r === rows[0]) g.moveTo(x, y); else g.lineTo(x, y); }
    g.stroke(); g.fillStyle = css.getPropertyValue('--soft'); g.font = 12 * devicePixelRatio + 'px system-ui';
    g.fillText(show(hi), 2, H * 0.08); g.fillText(show(lo), 2, H * 0.95); g.fillText('t = ' + show(t1), W * 0.85, H * 0.99);
  };
  const run = () => {
    cancelAnimationFrame(timer); sketch.stop();
    const m = new Model(), start = {}, set = {};
    for (const s of sliders) (s.kind === 'start' ? start : set)[s.name] = s.value;
    if (Object.keys(set).length && m.set) { const why = m.set(set); if (why) { say.textContent = why; return; } }
    const why = m.start(start, 0); if (why) { say.textContent = why; return; }
    const h = info.h, total = Math.min(20000, Math.max(10, Math.round(info.until / h))), every = Math.max(1, Math.floor(total / 800));
    rows = [Array.from(m.row())]; let done = 0, worst = 0, top = m.entropy ? m.entropy() : NaN, falls = 0, stop = '';
    const some = (n, most) => { /* at most so many milliseconds: the page stays a page while it runs */
      const began = performance.now();
      for (let i = 0; i < n && done < total && !stop && performance.now() - began < most; i++) {
        stop = m.step(h) || ''; if (stop) break; done++;
        worst = Math.max(worst, Math.abs(m.energyError())); const S = m.entropy(); if (S < top) falls++; else top = S;
        if (done % every === 0) rows.push(Array.from(m.row()));
      }
      say.textContent = done + ' steps of ' + show(h) + ': largest energy error ' + worst.toExponential(1) + ', entropy ' + (Number.isFinite(top) ? show(top) + ', falls ' + falls : 'none') + (stop ? '. Stopped: ' + stop : '');
      draw();
    };
    if (still) { some(total, 1e4); sketch.show(rows); return; }
    const mine = ++runs, frame = () => { if (mine !== runs) return; some(Math.ceil(total / 60), 20); if (done < total && !stop) timer = requestAnimationFrame(frame); else sketch.show(rows); }; setTimeout(frame);
  };
  box.querySelector('.run').addEventListener('click', run); choose.addEventListener('change', draw); addEventListener('resize', draw);
  box.hidden = false; check(); run();
})();
