import { expect, test } from 'vitest';
import { makeWitness, MortalProcess } from '@test/faults/mortal-process.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import type { AgentInput } from '../../event/agent-input.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { toolResultsOf, toolUsesOf, userMessage } from '../../message/msg.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { approvals, type ApprovalsOptions } from '../approvals.ts';
import type { ApprovalDecision } from '../ask-approver.ts';

// Every state of an approval lies in the log: a process that dies at any point loses none of it.

const question = userMessage('Go.', { id: 'question' });
const input = { type: 'object', properties: { coins: { type: 'number' } } } as const;
const asked = ['pay', 'look', 'mail'].map((name) => ({ name, id: name, input: { coins: 1 } }));

/** What people decide: they edit the payment and reject the mail. */
const decisions: Readonly<Record<string, ApprovalDecision>> = {
  pay: { type: 'edit', input: { coins: 2 } },
  mail: { type: 'reject', reason: 'not today' },
};

/** A conversation of several processes, and what its people and tools have done. */
class Conversation {
  readonly store = new MemoryStore();
  readonly witness = makeWitness();
  readonly decided = new Set<string>();
  readonly ran: string[] = [];
  readonly #deferRound: boolean;
  readonly #isLive: boolean;

  constructor(deferRound: boolean, isLive: boolean) {
    this.#deferRound = deferRound;
    this.#isLive = isLive;
  }

  decisionAbout({ name }: PendingCall): ApprovalDecision {
    this.decided.add(name);
    return decisions[name]!;
  }

  agentIn(process: MortalProcess): ReActAgent {
    const tools = asked.map(({ name }) =>
      process.tool({
        name,
        description: '',
        input,
        execute: (given) => {
          const inRound = this.#deferRound ? ['pay', 'mail'] : [name];
          const needed = inRound.filter((one) => one in decisions);
          const undecided = needed.filter((one) => !this.decided.has(one));
          if (undecided.length)
            this.witness.faults.push(`${name} ran before a decision about ${undecided.join()}`);
          this.ran.push(`${name} ${JSON.stringify(given)}`);
          return 'done';
        },
      }),
    );
    const decide: ApprovalsOptions['decide'] = async (call) => {
      await process.point('decide');
      return this.decisionAbout(call);
    };
    const needsApproval = { pay: 'Moves money.', 'ma*': true };
    const options = {
      needsApproval,
      deferRound: this.#deferRound,
      ...(this.#isLive && { decide }),
    };
    return new ReActAgent({
      name: 'a',
      sessionId: 's',
      memory: process.memory('s'),
      model: process.model(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Done.' : { toolCalls: asked },
      ),
      tools,
      use: [approvals(options)],
    });
  }

  /** Calls the agent and decides about pending tool calls until the run ends. */
  async finish(process: MortalProcess, first: AgentInput | undefined): Promise<void> {
    const agent = this.agentIn(process);
    const { signal } = process;
    for (let given = first; ;) {
      const { pending, reason } = await agent.call(given, { signal });
      if (reason !== 'suspended') return;
      if (this.#isLive) throw new Error('Nobody asked the approver.');
      given = pending.map((call): Decision => ({
        toolUseId: call.toolUseId,
        ...this.decisionAbout(call),
      }));
    }
  }
}

test.each([
  ['decisions after a suspension', false, false],
  ['decisions after a suspension, in deferred rounds', true, false],
  ['live decisions', false, true],
  ['live decisions, in deferred rounds', true, true],
])(
  '%s: a process that dies at any point loses no decision, and no tool runs without one',
  async (_what, deferRound, isLive) => {
    const whole = new Conversation(deferRound, isLive);
    const alive = new MortalProcess(whole.store, whole.witness, { generation: 0 });
    await whole.finish(alive, question);
    expect(whole.ran.toSorted()).toEqual(['look {"coins":1}', 'pay {"coins":2}']);
    expect(alive.points.length).toBeGreaterThan(20);

    for (const [dieAt, point] of alive.points.entries()) {
      const where = `killed at ${dieAt} (${point})`;
      const talk = new Conversation(deferRound, isLive);
      const first = new MortalProcess(talk.store, talk.witness, { generation: 0, dieAt });
      await Promise.race([talk.finish(first, question), first.death]);
      first.bury();
      const second = new MortalProcess(talk.store, talk.witness, { generation: 1 });
      const memory = new SessionMemory(talk.store, 's');
      const isStored = (await memory.read()).length > 0;
      const { openRunId, calls } = await memory.view();
      const pending = [...calls.values()].flatMap((state) => state.pending ?? []);
      if (point === 'decide') expect(pending[0], where).toMatchObject({ kind: 'approval' });
      if (!isStored || openRunId) await talk.finish(second, isStored ? undefined : question);

      const messages = await new SessionMemory(talk.store, 's').read();
      const results = new Map(
        messages.flatMap(toolResultsOf).map((result) => [result.name, result] as const),
      );
      expect(talk.witness.faults, where).toEqual([]);
      expect(historyFaults(messages), where).toEqual([]);
      expect(results.get('mail'), where).toMatchObject({
        state: 'denied',
        output: 'Tool call rejected: not today',
      });
      expect(messages.flatMap(toolUsesOf)[0], where).toMatchObject({ input: { coins: 2 } });
      const allowed = ['look {"coins":1}', 'pay {"coins":2}'];
      expect(
        talk.ran.filter((run) => !allowed.includes(run)),
        where,
      ).toEqual([]);
      for (const name of ['pay', 'look']) {
        // A tool that has started does not run again.
        const state = calls.get(name)?.started ? 'interrupted' : 'success';
        expect(results.get(name), `${where}: ${name}`).toMatchObject({ state });
      }
    }
  },
  60_000,
);
