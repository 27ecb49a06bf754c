import { connectAgent } from '@isoloop/web-worker';
import type { JsonValue } from '@isoloop/core';
import type { TabsFixtureOptions, Witnessed } from '../../packages/web-worker/test-support/tabs.ts';

/**
 * One tab of the test: the events and the text that it has received, and the functions that a test
 * can call in it.
 */
export interface TestTab {
  readonly told: Witnessed[];
  /** Text of the session's current run. */
  text: string;
  readonly ends: string[];
  /** Connects the tab to the session. `replies` is the list of the model's replies as JSON. */
  start(sessionId: string, replies: string): Promise<void>;
  ask(text: string): void;
  open(gate: string): void;
  roles(): Promise<readonly string[]>;
}

const worker = new Worker(
  new URL('../../packages/web-worker/test-support/tabs.ts', import.meta.url),
  { type: 'module' },
);
let agent: ReturnType<typeof connectAgent>;

const tab: TestTab = {
  told: [],
  text: '',
  ends: [],
  async start(sessionId, text) {
    const replies = JSON.parse(text) as TabsFixtureOptions['replies'];
    agent = connectAgent(worker, {
      sessionId,
      options: { replies, database: sessionId } as unknown as JsonValue,
    });
    void watch();
    await agent.messages();
  },
  ask: (text) => void agent.call(text).catch(() => {}),
  open: (gate) => worker.postMessage({ open: gate }),
  roles: async () => (await agent.messages()).map(({ role }) => role),
};
Object.assign(globalThis, { tab });

worker.addEventListener('message', ({ data }: MessageEvent<{ readonly witnessed?: Witnessed }>) => {
  if (data.witnessed) tab.told.push(data.witnessed);
});

async function watch(): Promise<void> {
  for await (const event of agent.watch()) {
    if (event.type === 'pre-reasoning' || event.type === 'step-reset') tab.text = '';
    if (event.type === 'reasoning-chunk') tab.text += event.delta;
    if (event.type === 'run-end') tab.ends.push(event.result.text);
  }
}
