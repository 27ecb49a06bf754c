import { transformSync } from 'esbuild'; import fs from 'node:fs'; import { gzipSync } from 'node:zlib'; import { rolldown } from 'rolldown';
const dist = process.argv[2], code = process.argv[3];
const b = await rolldown({ input: 'virtual:e', plugins: [{ name: 'v', resolveId: (id) => id === 'virtual:e' ? id : id.startsWith('@/') ? dist + id.slice(1) : null, load: (id) => id === 'virtual:e' ? code : null }] });
const { output } = await b.generate({ format: 'esm' });
const rows = Object.entries(output[0].modules).map(([id, m]) => { const c = transformSync(m.code ?? '', { minify: true, format: 'esm', target: 'es2023' }).code; return [c.length, gzipSync(c).length, id.replace(dist + '/', '')]; }).sort((a, b) => b[0] - a[0]);
let t = 0; for (const r of rows) { t += r[0]; } console.log('sum', t);
for (const r of rows.slice(0, 60)) console.log(String(r[0]).padStart(6), String(r[1]).padStart(6), r[2]);
