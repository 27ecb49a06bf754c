import { build } from 'vite';
import { root } from '../../scripts/root.ts';
import { startEdgeServer, type EdgeServer } from './edge-server.ts';

/**
 * Builds the pages of `chat/` and starts `wrangler dev` for them. Another app mounts the endpoint
 * at `/kv` with sessions in KV, and at `/do` with sessions in Durable Objects.
 */
export async function startChatServer(): Promise<EdgeServer> {
  const assets = `${root}/node_modules/.cache/e2e-chat`;
  const folder = `${root}/test/e2e/chat`;
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: {
      outDir: assets,
      emptyOutDir: true,
      target: 'es2023',
      rolldownOptions: {
        input: ['index', 'agent', 'object'].map((page) => `${folder}/${page}.html`),
      },
    },
  });
  return startEdgeServer({ config: 'test/e2e/chat/wrangler.toml', assets });
}
