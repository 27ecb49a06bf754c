import { expect, test } from 'vitest';
import { isCutOff } from '../../memory/log/resumption.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { userMessage, textOf } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { signalUntilTestEnd } from '@test/support/test-end.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const failing: ScriptedReply = { error: new Error('The server is down.') };

/** What happened to the session before the agent call without input. */
const earlier: Readonly<Record<string, (agent: ReActAgent) => Promise<unknown>>> = {
  'a removed answer (regenerate)': async (agent) => {
    const { message } = await agent.call('Why?');
    await agent.memory.delete([message.id], { later: true });
  },
  'an error': (agent) => agent.call('Why?').catch(() => {}),
  'observe()': (agent) => agent.observe(userMessage('Why?')),
  'an interrupted reply': async (agent) => {
    const stream = agent.stream('Why?');
    for await (const { type } of stream) if (type === 'reasoning-chunk') agent.interrupt();
  },
};

test.each(Object.entries(earlier))(
  'after %s, the log notes a call without input before the model is asked',
  async (what, prepare) => {
    const store = new MemoryStore();
    const open = () => new SessionMemory(store, 's');
    const first: readonly ScriptedReply[] =
      what === 'observe()' ? [] : [what === 'an error' ? failing : 'One two three.'];
    const { agent, model } = scriptedAgent([...first, { hang: true }], {
      sessionId: 's',
      memory: open(),
    });
    await prepare(agent);
    expect(isCutOff(await open().view())).toBe(false);

    const dying = agent.call(undefined, { signal: signalUntilTestEnd() });
    dying.catch(() => {});
    await expect.poll(() => model.requests.length).toBe(first.length + 1);
    expect(isCutOff(await open().view())).toBe(true);

    const next = new ScriptedModel(['Because.']);
    const other = new ReActAgent({ name: 'a', sessionId: 's', model: next, memory: open() });
    expect((await other.call()).text).toBe('Because.');
    expect((await other.messages()).map(textOf)).toEqual(['Why?', 'Because.']);
    expect(isCutOff(await open().view())).toBe(false);
  },
);
