// node check.mjs MODULE.mjs ROWS.csv [NAME=VALUE...]: the module, with these parameters set; its path against the rows of `clausius simulate`, to
// 1e-10 of each column's size; energy to round-off, entropy never falls.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
const { info, Model } = await import(resolve(process.argv[2]));
const lines = readFileSync(process.argv[3], 'utf8').trim().split('\n').filter(l => !l.startsWith('#'));
const names = lines[0].split(','), rows = lines.slice(1).map(l => l.split(',').map(Number));
const fail = text => { console.error(`${info.system}: ${text}`); process.exit(1); };
if (names.join() !== info.columns.map(c => c.name).join()) fail(`columns ${names}`);
const size = names.map((_, c) => Math.max(...rows.map(r => Math.abs(r[c])), 1e-3));
const m = new Model(), entropy = names.indexOf('entropy'), scale = size[names.indexOf('energy')] ?? 1;
const settings = Object.fromEntries(process.argv.slice(4).map(s => s.split('=')).map(([k, v]) => [k, Number(v)]));
if (process.argv.length > 4) {
  const why = m.set(settings) || m.start();
  if (why) fail(why);
  if (!m.set({ nothing: 1 }).includes('nothing')) fail('an unknown parameter is taken');
}
let worst = 0, before = m.row();
rows.forEach((row, k) => {
  const why = k ? m.step() : '';
  if (why) fail(`step ${k}: ${why}`);
  const mine = m.row();
  row.forEach((x, c) => { worst = Math.max(worst, Math.abs(mine[c] - x) / size[c]); });
  if (!(worst <= 1e-10)) fail(`row ${k} is off by ${worst}`);
  if (info.keeps.includes('energy') && !(Math.abs(m.energyError()) <= 1e-12 * scale)) fail(`row ${k}: energy off by ${m.energyError()}`);
  if (info.keeps.includes('entropy') && !(mine[entropy] >= before[entropy] - 1e-13 * size[entropy])) fail(`row ${k}: the entropy falls`);
  before = mine;
});
if (!m.start({ nothing: 1 }).startsWith('no state is called nothing')) fail('an unknown name is taken');
if (!m.step(-1)) fail('a negative step is taken');
console.log(`${info.system}: ${rows.length} rows, at most ${worst.toExponential(1)} off`);
