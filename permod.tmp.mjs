import { rolldown } from 'rolldown'; import { gzipSync } from 'node:zlib';
const dist = process.argv[2], code = process.argv[3];
const b = await rolldown({ input: 'virtual:e', plugins: [{ name: 'v', resolveId: (id) => id === 'virtual:e' ? id : id.startsWith('@/') ? dist + id.slice(1) : null, load: (id) => id === 'virtual:e' ? code : null }] });
const { output } = await b.generate({ format: 'esm', minify: true });
const full = gzipSync(output[0].code).length;
// leave-one-out: gz of bundle with each module's minified rendering removed is hard; approximate with own rendering minified
const { transformSync } = await import('rolldown/experimental').catch(() => ({}));
const mods = Object.entries(output[0].modules).map(([id, m]) => [id.replace(dist + '/', ''), m.code ?? '']);
const all = mods.map(([, c]) => c).join('\n'); const whole = gzipSync(all).length;
const rows = mods.map(([k, c]) => [k, c.length, whole - gzipSync(mods.filter(([o]) => o !== k).map(([, x]) => x).join('\n')).length]);
rows.sort((a, b) => b[2] - a[2]);
console.log('full', full, 'unminified whole', whole);
for (const [k, l, d] of rows.slice(0, 70)) console.log(String(d).padStart(6), String(l).padStart(7), k);
