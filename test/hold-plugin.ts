import type { Plugin } from 'vite';

/**
 * Answers `GET /held/<id>` when `POST /held/<id>` arrives. A test freezes a worker this way: the
 * worker sends the GET synchronously.
 */
export function holdPlugin(): Plugin {
  const released = new Set<string>();
  const held = new Map<string, () => void>();
  return {
    name: 'held-requests',
    configureServer({ middlewares }) {
      middlewares.use('/held', ({ method, url = '' }, response) => {
        if (method !== 'POST' && !released.has(url)) {
          held.set(url, () => response.end());
          return;
        }
        released.add(url);
        held.get(url)?.();
        response.end();
      });
    },
  };
}
