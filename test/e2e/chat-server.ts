import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { startLocalEdge, untilHealthy } from '../../scripts/local-edge.ts';
import { root } from '../../scripts/root.ts';
import { freePort, type DemoServer } from './demo-server.ts';

/**
 * Builds a page of `chat/` and starts `wrangler dev` for it. Another app mounts the endpoint at `/kv`
 * with sessions in KV, and at `/do` with sessions in Durable Objects.
 */
export async function startChatServer(page: string): Promise<DemoServer> {
  const assets = `${root}/node_modules/.cache/e2e-chat-${page}`;
  const folder = await mkdtemp(join(tmpdir(), 'isoloop-e2e-'));
  await build({
    root: `${root}/test/e2e/chat`,
    configFile: false,
    logLevel: 'error',
    build: {
      outDir: assets,
      emptyOutDir: true,
      target: 'es2023',
      rolldownOptions: { input: `${root}/test/e2e/chat/${page}.html` },
    },
  });
  const edge = startLocalEdge({
    port: await freePort(),
    persistTo: folder,
    config: 'test/e2e/chat/wrangler.toml',
    assets,
  });
  await untilHealthy(edge);
  return {
    url: edge.url,
    async stop() {
      await edge.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
