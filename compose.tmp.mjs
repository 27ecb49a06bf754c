import { rolldown } from 'rolldown';
import { gzipSync } from 'node:zlib';
const dist = process.argv[2]; const code = process.argv[3]; const detail = process.argv[4];
const b = await rolldown({ input: 'virtual:e', plugins: [{ name: 'v', resolveId: (id) => id === 'virtual:e' ? id : id.startsWith('@/') ? dist + id.slice(1) : null, load: (id) => id === 'virtual:e' ? code : null }] });
const { output } = await b.generate({ format: 'esm', minify: true });
console.log('total gz', gzipSync(output[0].code).length, 'min', output[0].code.length);
if (detail) { const by = {}; for (const [id, m] of Object.entries(output[0].modules)) { const k = id.replace(dist + '/', ''); by[k] = m.renderedLength; }
 const e = Object.entries(by).sort((a, b) => b[1] - a[1]); const f = {}; for (const [k, v] of e) { const d = k.split('/').slice(0, -1).join('/'); f[d] = (f[d] ?? 0) + v; }
 console.log(Object.entries(f).sort((a,b)=>b[1]-a[1]).map(([k,v])=>v+' '+k).join('\n')); if (detail==='2') console.log(e.map(([k,v])=>v+' '+k).join('\n')); }
