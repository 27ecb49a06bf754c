import { connectAgent } from '@isoloop/web-worker';
import type { ProxyAgent, ProxyOptions } from './agent.worker.ts';

export interface Answer {
  readonly text?: string;
  readonly deltas?: number;
  readonly code?: string;
}

/** Asks an agent in a new worker. Tests call this function in the page. */
async function ask(input: string, options: ProxyOptions): Promise<Answer> {
  const worker = new Worker(new URL('./agent.worker.ts', import.meta.url), { type: 'module' });
  const agent = connectAgent<ProxyAgent>(worker, { sessionId: 's', options });
  let deltas = 0;
  try {
    const stream = agent.stream(input);
    for await (const event of stream) if (event.type === 'reasoning-chunk') deltas += 1;
    return { text: (await stream.result).text, deltas };
  } catch (error) {
    return { code: (error as { readonly code: string }).code };
  } finally {
    agent.terminate();
  }
}

Object.assign(globalThis, { ask });
