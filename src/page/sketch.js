/* A sketch of the motion, chosen by the system's `picture` line: pendulum, piston, masses, body. It plays
 * once in eight seconds unless the reader wants no motion; the slider goes to any time. */
const makeSketch = (box, names, still) => {
  const what = JSON.parse(document.getElementById('try-picture').textContent);
  const at = what ? what.names.map(n => names.indexOf(n)) : [-1];
  if (at.some(k => k < 0)) return { show() {}, stop() {} };
  const canvas = box.querySelector('canvas'), slider = box.querySelector('input'), out = box.querySelector('output');
  let rows = [], turn = [], timer = 0;
  const range = k => rows.reduce(([a, b], r) => [Math.min(a, r[k]), Math.max(b, r[k])], [Infinity, -Infinity]);
  const css = word => getComputedStyle(document.documentElement).getPropertyValue(word);
  /* R times the rotation by w dt (Rodrigues) */
  const rotate = (R, w, dt) => {
    const a = Math.hypot(...w) * dt; if (!(a > 0)) return R;
    const [x, y, z] = w.map(c => c * dt / a), c = Math.cos(a), s = Math.sin(a), d = 1 - c;
    const Q = [[c + x * x * d, x * y * d - z * s, x * z * d + y * s], [y * x * d + z * s, c + y * y * d, y * z * d - x * s], [z * x * d - y * s, z * y * d + x * s, c + z * z * d]];
    return R.map(r => [0, 1, 2].map(j => r[0] * Q[0][j] + r[1] * Q[1][j] + r[2] * Q[2][j]));
  };
  const draw = {
    pendulum(g, W, H, r) {
      const rod = 0.42 * H / at.length; let x = W / 2, y = at.length > 1 ? H * 0.45 : H / 2;
      g.fillRect(x - 30, y - 3, 60, 3);
      for (const k of at) {
        const nx = x + rod * Math.sin(r[k]), ny = y + rod * Math.cos(r[k]);
        g.beginPath(); g.moveTo(x, y); g.lineTo(nx, ny); g.stroke();
        g.beginPath(); g.arc(nx, ny, 10, 0, 7); g.fill(); x = nx; y = ny;
      }
    },
    piston(g, W, H, r) {
      let [lo, hi] = range(at[0]); const pad = Math.max(0.2 * (hi - lo), 1e-12);
      lo = what.low[0] ?? lo - pad; hi = what.high[0] ?? hi + pad;
      const x = W * (0.06 + 0.88 * (r[at[0]] - lo) / (hi - lo)), top = H * 0.25, tall = H * 0.5;
      g.globalAlpha = 0.15; g.fillRect(W * 0.06, top, x - W * 0.06, tall); g.globalAlpha = 0.07; g.fillRect(x, top, W * 0.94 - x, tall); g.globalAlpha = 1;
      g.strokeRect(W * 0.06, top, W * 0.88, tall); g.fillRect(x - 7, top, 14, tall);
    },
    masses(g, W, H, r) {
      const n = at.length, y = H / 2, all = at.map(range), ordered = n > 1 && all.every((a, i) => !i || a[0] > all[i - 1][1]);
      const lo = Math.min(...all.map(a => a[0])), hi = Math.max(...all.map(a => a[1])), wide = Math.max(hi - lo, 1e-12), most = Math.max(Math.abs(lo), Math.abs(hi), 1e-12);
      let from = W * 0.04; g.fillRect(from - 4, y - 30, 4, 60);
      at.forEach((k, i) => {
        /* places in one order; else how far each is from its place */
        const x = ordered ? W * (0.12 + 0.8 * (r[k] - lo) / wide) : W * ((i + 1) / (n + 1) + 0.42 / (n + 1) * r[k] / most);
        g.beginPath(); g.moveTo(from, y);
        for (let j = 1; j < 12; j++) g.lineTo(from + (x - 11 - from) * j / 12, y + (j % 2 ? 7 : -7));
        g.lineTo(x - 11, y); g.stroke(); g.fillRect(x - 11, y - 11, 22, 22); from = x + 11;
      });
    },
    body(g, W, H, r, i) {
      const R = turn[i], s = 0.22 * Math.min(W, H), size = [1.5 * s, s, 0.55 * s];
      const tilt = v => { const c = Math.cos(0.5), d = Math.sin(0.5); return [v[0], c * v[1] - d * v[2], d * v[1] + c * v[2]]; };
      const point = q => tilt(R.map(row => row[0] * q[0] * size[0] + row[1] * q[1] * size[1] + row[2] * q[2] * size[2]));
      const faces = [];
      for (let k = 0; k < 3; k++) for (const e of [-1, 1]) {
        const c = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([a, b]) => { const q = [0, 0, 0]; q[k] = e; q[(k + 1) % 3] = a; q[(k + 2) % 3] = b; return point(q); });
        faces.push({ c, k, depth: c.reduce((x, v) => x + v[2], 0) });
      }
      for (const f of faces.sort((a, b) => a.depth - b.depth)) {
        g.beginPath(); f.c.forEach((v, j) => j ? g.lineTo(W / 2 + v[0], H / 2 - v[1]) : g.moveTo(W / 2 + v[0], H / 2 - v[1])); g.closePath();
        g.fillStyle = css(['--c0', '--c1', '--c2'][f.k]); g.fill(); g.stroke();
      }
    },
  };
  const frame = i => {
    const d = devicePixelRatio, g = canvas.getContext('2d'), W = canvas.clientWidth, H = canvas.clientHeight;
    canvas.width = W * d; canvas.height = H * d; g.scale(d, d);
    g.strokeStyle = css('--ink'); g.fillStyle = css('--c0'); g.lineWidth = 2;
    draw[what.kind](g, W, H, rows[i], i);
    slider.value = i; out.textContent = Number(rows[i][0].toPrecision(4)); slider.setAttribute('aria-valuetext', 'time ' + out.textContent);
  };
  const stop = () => cancelAnimationFrame(timer);
  slider.addEventListener('input', () => { stop(); frame(+slider.value); });
  addEventListener('resize', () => rows.length && frame(+slider.value));
  return {
    stop,
    show(list) {
      rows = list; slider.max = rows.length - 1; box.hidden = false;
      if (what.kind === 'body') { turn = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]; for (let i = 1; i < rows.length; i++) turn.push(rotate(turn[i - 1], at.map(k => rows[i - 1][k]), rows[i][0] - rows[i - 1][0])); }
      if (still) { frame(rows.length - 1); return; }
      let begun = 0;
      const play = now => { begun ||= now; const share = Math.min(1, (now - begun) / 8000); frame(Math.round(share * (rows.length - 1))); if (share < 1) timer = requestAnimationFrame(play); };
      timer = requestAnimationFrame(play);
    },
  };
};
