import { Server } from 'node:net';
import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

/** Notes all servers that listen, until their last connection is closed. */
export function watchServers(): void {
  const { prototype } = Server;
  if (!isFirstPatch(prototype)) return;
  const { listen } = prototype as { listen(this: Server, ...values: unknown[]): Server };
  prototype.listen = function listenNoted(this: Server, ...values: unknown[]): Server {
    const origin = captureOrigin();
    this.once('listening', () => {
      const address = this.address();
      const port = address && typeof address === 'object' ? `port ${address.port}` : address;
      note(this, { kind: 'server', phrase: `a server (${port})`, origin });
    });
    this.once('close', () => forget(this));
    return listen.apply(this, values);
  } as Server['listen'];
}
