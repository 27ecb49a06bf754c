import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalEdge, untilHealthy, type LocalEdgeOptions } from '../../scripts/local-edge.ts';

export interface EdgeServer {
  readonly url: string;
  stop(): Promise<void>;
}

interface EdgeServerOptions extends Omit<LocalEdgeOptions, 'port' | 'persistTo'> {
  /** Path that answers when the server is ready. Default: `/healthz`. */
  readonly health?: string;
}

/** Starts `wrangler dev` on a free port and with empty storage. Default: for the built demo. */
export async function startEdgeServer({
  health,
  ...options
}: EdgeServerOptions = {}): Promise<EdgeServer> {
  const persistTo = await mkdtemp(join(tmpdir(), 'isoloop-e2e-'));
  const edge = startLocalEdge({ ...options, port: await freePort(), persistTo });
  await untilHealthy(edge, health === undefined ? {} : { path: health });
  return {
    url: edge.url,
    async stop() {
      await edge.stop();
      await rm(persistTo, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
