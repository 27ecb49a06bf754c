import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { bundle } from '../lib/bundle.mjs';
import { startWorkerd, workerConditions } from '../lib/workerd.mjs';
import { token } from './plan.mjs';

const secret = 'bench-secret-0123456789abcdef0123456789abcdef';

/**
 * The contenders. Each has a Worker (`app`), the format of its API (`format`), its bindings, and
 * its share of the requests. The contender `model` calls the model directly, without a Worker.
 */
export const contenders = {
  model: { format: 'model' },
  floor: { app: 'floor', format: 'ui' },
  'isoloop, KV': { app: 'isoloop', format: 'ui', binds: ['kv'] },
  'isoloop, Durable Object': { app: 'isoloop', format: 'ui', binds: ['object'] },
  'isoloop, /v1': { app: 'isoloop', format: 'openai', binds: ['kv'] },
  'ai-sdk': { app: 'ai-sdk', format: 'ui', share: 1 / 5 },
};

export async function bundleApps(bundles, names) {
  for (const name of new Set(names)) {
    mkdirSync(folderOf(bundles, name), { recursive: true });
    const source = `${import.meta.dirname}/apps/${name}.mjs`;
    const code = `export * from ${JSON.stringify(source)}; export { app as default } from ${JSON.stringify(source)};`;
    await bundle(code, {
      file: `${folderOf(bundles, name)}/worker.js`,
      conditions: workerConditions,
    });
  }
}

/**
 * Starts a Worker in its own workerd. Durable Objects are stored in a folder that `stop` deletes.
 * If possible, the folder is in memory, because the speed of the local disk says nothing about
 * Cloudflare. With `pinned`, Durable Objects stay in memory while they are idle. With `inspect`,
 * the inspector listens.
 */
export async function startApp(bundles, { app, binds = [], pinned = false, inspect }, world) {
  const disk = mkdtempSync(`${existsSync('/dev/shm') ? '/dev/shm' : tmpdir()}/isoloop-bench-`);
  const bindings = [
    `(name = "WORLD", text = "http://127.0.0.1:${world}")`,
    `(name = "TOKEN", text = "${token}")`,
  ];
  const services = [];
  const lines = ['compatibilityFlags = ["enable_request_signal"]'];
  if (binds.includes('kv')) {
    bindings.push(
      '(name = "CHAT_KV", kvNamespace = "kv")',
      `(name = "SESSION_SECRET", text = "${secret}")`,
    );
    services.push(`(name = "kv", external = (address = "127.0.0.1:${world}", http = ()))`);
  }
  if (binds.includes('object')) {
    bindings.push('(name = "CHAT_SESSION", durableObjectNamespace = "ChatSession")');
    services.push(`(name = "disk", disk = (path = "${disk}", writable = true))`);
    lines.push(
      `durableObjectNamespaces = [(className = "ChatSession", uniqueKey = "chat-session", enableSql = true, preventEviction = ${pinned})]`,
    );
    lines.push('durableObjectStorage = (localDisk = "disk")');
  }
  lines.push(`bindings = [${bindings.join(', ')}]`);
  const started = await startWorkerd({
    folder: folderOf(bundles, app),
    worker: lines.join(',\n  '),
    services: services.map((each) => `, ${each}`).join(''),
    inspect,
  });
  return {
    ...started,
    stop() {
      started.stop();
      rmSync(disk, { recursive: true, force: true });
    },
  };
}

function folderOf(bundles, app) {
  return `${bundles}/edge-${app}`;
}
