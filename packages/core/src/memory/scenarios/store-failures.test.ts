import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';
import { userMessage } from '../../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { lies, lyingStore } from '@test/stores/lying-store.ts';
import { makeWitness, MortalProcess } from '@test/faults/mortal-process.ts';

/** Creates a store in which one operation fails, before or after it takes effect. */
function failing(inner: MemoryStore, at: number, takesEffect: boolean, error: AgentError) {
  let operations = 0;
  const one = async <T>(operation: () => Promise<T>): Promise<T> => {
    if (operations++ !== at) return operation();
    if (takesEffect) await operation();
    throw error;
  };
  const store: KeyValueStore = {
    features: inner.features,
    get: (key) => one(() => inner.get(key)),
    getMany: (keys) => one(() => inner.getMany(keys)),
    keys: (prefix) => one(() => inner.keys(prefix)),
    set: (key, value) => one(() => inner.set(key, value)),
    setMany: (entries) => one(() => inner.setMany(entries)),
    delete: (keys) => one(() => inner.delete(keys)),
    compareAndSet: (key, expected, value) => one(() => inner.compareAndSet(key, expected, value)),
  };
  return { store, failed: () => operations > at };
}

/** Creates an agent that calls a tool twice at once, and then answers. */
function stepper(process: MortalProcess): ReActAgent {
  return new ReActAgent({
    name: 'a',
    sessionId: 's',
    memory: process.memory('s', { sleep: async () => {} }),
    tools: [process.tool({ name: 'step', description: '', input: {}, execute: () => 'done' })],
    model: process.model(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : {
            toolCalls: [
              { name: 'step', id: 'a' },
              { name: 'step', id: 'b' },
            ],
          },
    ),
  });
}

const errors = [
  new AgentError('STORAGE_FAILED', 'lost', { retryable: true }),
  new AgentError('STORAGE_QUOTA', 'full'),
];

test.for([
  ['the same agent', false],
  ['a new one', true],
] as const)(
  'after any store operation failed, %s continues, no tool runs twice, and no message is lost',
  async ([, isNew]) => {
    let tried = 0;
    for (const error of errors) {
      for (const takesEffect of [false, true]) {
        for (let at = 0, more = true; more; at += 1) {
          const inner = new MemoryStore();
          const { store, failed } = failing(inner, at, takesEffect, error);
          const witness = makeWitness();
          const process = new MortalProcess(store, witness, { generation: 0 });
          const open = (): ReActAgent => stepper(process);
          let agent = open();
          const codes: string[] = [];
          const attempt = async (): Promise<boolean> => {
            const messages = await agent.messages();
            const last = messages.at(-1);
            if (last?.role === 'assistant' && last.content.every(({ type }) => type === 'text'))
              return true;
            await agent.call(messages.length > 0 ? undefined : userMessage('Go.', { id: 'go' }));
            return true;
          };
          for (let tries = 0; tries < 3; tries += 1) {
            const done = await attempt().catch(
              (thrown: unknown) => void codes.push(AgentError.from(thrown).code),
            );
            if (done) break;
            if (isNew) agent = open();
          }
          await agent.memory.flush?.();

          const log = await new SessionMemory(inner, 's').read();
          const where = `${error.code} at ${at}, ${takesEffect ? 'after' : 'before'} its effect: ${codes.join()}`;
          expect([where, ...witness.faults, ...historyFaults(log)]).toEqual([where]);
          expect([
            where,
            log.filter(({ role }) => role === 'user').length,
            log.at(-1)?.role,
          ]).toEqual([where, 1, 'assistant']);
          for (const id of witness.kept.get('s') ?? [])
            expect(log.map((message) => message.id)).toContain(id);
          for (const code of codes) expect(code).toBe(error.code);
          more = failed();
          tried += 1;
        }
      }
    }
    expect(tried).toBeGreaterThan(50);
  },
);

test.for(lies)(
  'if the store %s once during a run, no tool runs twice and no message is lost or stored twice',
  async (lie) => {
    for (let at = 0, more = true; more; at += 1) {
      const inner = new MemoryStore();
      const { store, hasLied } = lyingStore(inner, lie, at);
      const witness = makeWitness();
      const process = new MortalProcess(store, witness, { generation: 0 });
      const agent = stepper(process);
      const codes: string[] = [];
      for (let tries = 0; tries < 3; tries += 1) {
        const messages = await agent.messages();
        const last = messages.at(-1);
        if (last?.role === 'assistant' && last.content.every(({ type }) => type === 'text')) break;
        await agent
          .call(messages.length > 0 ? undefined : userMessage('Go.', { id: 'go' }))
          .catch((thrown: unknown) => void codes.push(AgentError.from(thrown).code));
      }
      await agent.memory.flush?.().catch(() => {});
      await agent.memory.flush?.();

      const log = await new SessionMemory(inner, 's').read();
      const where = `${lie} at ${at}: ${codes.join()}`;
      expect([where, ...witness.faults, ...historyFaults(log)]).toEqual([where]);
      const ids = log.map(({ id }) => id);
      expect([where, ...ids]).toEqual([where, ...new Set(ids)]);
      for (const id of witness.kept.get('s') ?? []) expect(ids).toContain(id);
      expect(codes.filter((code) => code !== 'STORAGE_FAILED')).toEqual([]);
      more = hasLied();
    }
  },
);
