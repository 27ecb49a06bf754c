import { build } from 'vite';
import { root } from '../../scripts/root.ts';
import { startEdgeServer, type EdgeServer } from './edge-server.ts';

/**
 * Builds a page of `chat/` and starts `wrangler dev` for it. Another app mounts the endpoint at `/kv`
 * with sessions in KV, and at `/do` with sessions in Durable Objects.
 */
export async function startChatServer(page: string): Promise<EdgeServer> {
  const assets = `${root}/node_modules/.cache/e2e-chat-${page}`;
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
  return startEdgeServer({ config: 'test/e2e/chat/wrangler.toml', assets });
}
