import { tool } from '@isoloop/core';
import { connectAgent, pageTools, type RemoteAgent } from '@isoloop/web-worker';
import * as z from 'zod';
import type { RecoveryOrder } from './recovery-worker.ts';

/** Connection of the page to a new worker. */
export interface RecoveryLink {
  readonly worker: Worker;
  readonly agent: RemoteAgent;
}

export interface LinkOptions {
  readonly sessionId: string;
  readonly order: RecoveryOrder;
  /** Function that the page's tool calls when it runs. */
  readonly onTool: () => Promise<void>;
}

/** What the page in an iframe offers to its test. */
export interface RecoveryPage {
  link(options: LinkOptions): RecoveryLink;
}

const script = '/packages/web-worker/test-support/recovery/recovery-worker.ts?worker_file';

const recovery: RecoveryPage = {
  link({ sessionId, order, onTool }) {
    const worker = new Worker(script, { type: 'module', name: JSON.stringify(order) });
    const color = tool({
      name: 'color',
      description: 'Asks the page',
      input: z.object({}),
      async execute() {
        await onTool();
        return 'red';
      },
    });
    const page = order.tool === color.name ? [pageTools([color])] : [];
    return { worker, agent: connectAgent(worker, { sessionId, page, timeoutMs: 120_000 }) };
  },
};

Object.assign(globalThis, { recovery });
