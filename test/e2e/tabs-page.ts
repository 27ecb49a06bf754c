import { connectAgent, pageTools } from '@isoloop/web-worker';
import { tool, type JsonValue } from '@isoloop/core';
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
  /** Approves the tool call that waits. */
  approve(): Promise<void>;
  /** Reasons of the tool calls that wait. */
  waits(): Promise<readonly unknown[]>;
}

/** A title that says `wait` makes the tool wait forever. */
const setTitle = tool({
  name: 'set_title',
  description: 'Sets the title of the page',
  input: { type: 'object' },
  execute: (input) => {
    document.title = String(Object(input).title);
    return document.title === 'wait' && !location.hash ? new Promise<never>(() => {}) : 'set';
  },
});

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
      page: [pageTools([setTitle])],
    });
    void watch();
    await agent.messages();
  },
  ask: (text) => void agent.call(text).catch(() => {}),
  open: (gate) => worker.postMessage({ open: gate }),
  approve: async () => {
    const [call] = await agent.pending();
    await agent.decide({ toolUseId: call!.toolUseId, type: 'approve' });
  },
  waits: async () => (await agent.pending()).map(({ reason }) => reason),
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
