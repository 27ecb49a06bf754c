import { ReActAgent, textOf, type JsonObject } from '@isoloop/core';
import { joinTools } from '@isoloop/core/tool';
import type { Witness } from '../../../../test/faults/mortal-process.ts';
import { IndexedDbStore } from '@isoloop/web-worker/store';
import { exposeAgent } from '@isoloop/web-worker/worker';
import * as z from 'zod';
import { HeldProcess } from '../../../../test/recovery/held-process.ts';
import type { RecoveryAction } from '../../../../test/recovery/recovery-cell.ts';
import { replyTo } from '../../../../test/recovery/recovery-talk.ts';

/** What a worker is for. The page passes it as JSON in the worker's name. */
export interface RecoveryOrder {
  /** Name of the channel on which the worker reports. */
  readonly channel: string;
  /** Id of the worker on the channel. */
  readonly id: string;
  readonly database: string;
  readonly action: RecoveryAction;
  /** Tool that the model calls first. */
  readonly tool: string;
  /** Index of the point at which the worker waits. Default: it does not wait. */
  readonly holdAt?: number | undefined;
  /** Whether the user has begun the action before this worker started. */
  readonly isActing: boolean;
}

/** What happened in one worker. */
export interface RecoveryReport {
  readonly isHeld: boolean;
  /** Names of the points since the action began. */
  readonly points: readonly string[];
  readonly witness: Witness;
  /** Inputs with which the worker's tools ran. */
  readonly ran: readonly JsonObject[];
  /** Texts of the newest user message in each model request since the action began. */
  readonly asked: readonly string[];
  /** Number of runs that the worker's pages asked for. */
  readonly streams: number;
}

/** Message of a test to a worker. Each gets a report as its answer. */
export interface RecoveryQuestion {
  readonly to: string;
  readonly question: string;
  /** `act`: the action begins. `joined`: the running agent has got the second message. */
  readonly type: 'act' | 'joined' | 'report' | 'point';
  /** Name of the point that the page has reached. The answer comes when the worker may continue. */
  readonly point?: string;
}

export interface RecoveryAnswer {
  readonly from: string;
  readonly question: string;
  readonly report: RecoveryReport;
}

const order = JSON.parse(self.name) as RecoveryOrder;
const channel = new BroadcastChannel(order.channel);
const ran: JsonObject[] = [];
const asked: string[] = [];
let streams = 0;
let goOn!: () => void;
/** Resolves when the second message has come, for which the first tool waits. */
const joined = new Promise<void>((resolve) => (goOn = resolve));
let { isActing } = order;
const process = new HeldProcess({
  store: new IndexedDbStore({ database: order.database }),
  ...(order.holdAt !== undefined && { holdAt: order.holdAt }),
});
if (isActing) begin();

channel.addEventListener('message', async ({ data }: MessageEvent<Partial<RecoveryQuestion>>) => {
  const { to, type, question, point } = data;
  if (to !== order.id || question === undefined) return;
  if (type === 'act') {
    isActing = true;
    begin();
  } else if (type === 'joined') goOn();
  else if (type === 'point') await process.point(point!);
  answer(question);
});

const input = z.object({ sum: z.number() });
const execute = async (given: { readonly sum: number }): Promise<string> => {
  ran.push(given);
  if (order.action === 'inject' && !order.isActing) await joined;
  return `did ${given.sum}`;
};
const step = process.tool({ name: 'step', description: 'Works', input, execute });
const pay = process.tool({
  name: 'pay',
  description: 'Pays',
  input,
  needsApproval: true,
  execute,
});

exposeAgent(({ sessionId, page }) => {
  const agent = new ReActAgent({
    name: 'assistant',
    sessionId,
    memory: process.memory(sessionId),
    model: process.model((request) => {
      const newest = request.messages.findLast(({ role }) => role === 'user');
      if (isActing && newest) asked.push(textOf(newest));
      return replyTo(request, order.tool, isActing);
    }),
    tools: joinTools(
      [step, pay].filter(({ name }) => name === order.tool),
      page.tools,
    ),
    use: [{ name: 'points', on: { '*': ({ type }) => process.point(type) } }],
    ...(order.action === 'inject' && { whenBusy: 'inject' }),
  });
  const stream = agent.stream.bind(agent);
  agent.stream = ((...given: Parameters<typeof stream>) => {
    streams += 1;
    return stream(...given);
  }) as typeof stream;
  return agent;
});

// The first report says that the worker has started.
answer('');

function answer(question: string): void {
  channel.postMessage({ from: order.id, question, report: report() } satisfies RecoveryAnswer);
}

function begin(): void {
  process.watch();
  process.start();
}

function report(): RecoveryReport {
  const { isHeld, points, witness } = process;
  return { isHeld, points, witness, ran, asked, streams };
}
