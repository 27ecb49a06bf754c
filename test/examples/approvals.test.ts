import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region approvals
import {
  assistantMessage,
  InMemoryMemory,
  ReActAgent,
  tool,
  toolResultsOf,
  userMessage,
  type Decision,
} from '@isoloop/core';
// #endregion
// #region replay
import * as z from 'zod';
// #endregion
// #region human-in-the-loop
// #endregion

test('an agent call suspends for approvals, external tools and suspended tools, and continues with decisions', async () => {
  const model = new ScriptedModel([
    {
      toolCalls: [
        { name: 'pay', input: { to: 'Bob', amount: 500 } },
        { name: 'pay', input: { to: 'Eve', amount: 900 } },
        { name: 'ask_user', input: { question: 'Now?' } },
        { name: 'deploy' },
      ],
    },
    'All done.',
  ]);
  const paid: string[] = [];
  const send = (to: string, amount: number): string => `payment ${paid.push(`${to} ${amount}`)}`;
  let released = false;

  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region approvals
  const pay = tool({
    name: 'pay',
    description: 'Pays somebody',
    input: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: ({ amount }) => amount > 100, // or true
    execute: ({ to, amount }) => send(to, amount),
  });
  const askUser = tool({
    name: 'ask_user',
    description: 'Asks the user',
    input: z.object({ question: z.string() }),
  }); // no `execute`: an external tool
  const deploy = tool({
    name: 'deploy',
    description: 'Deploys the site',
    input: z.object({}),
    execute: (_, ctx) => (released ? 'Deployed.' : ctx.suspend('waits for the release')),
  });

  const agent = new ReActAgent({ name: 'assistant', model, tools: [pay, askUser, deploy] });
  const asked = await agent.call('Pay Bob 500 and Eve 900, ask me, then deploy.');
  console.assert(asked.reason === 'suspended');
  for (const { toolUseId, kind, name, input, reason } of asked.pending)
    console.log(toolUseId, kind, name, input, reason);
  // #endregion

  expect(log).toHaveBeenCalledTimes(4);
  expect(asked.pending.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'approval pay',
    'approval pay',
    'external ask_user',
    'suspended deploy',
  ]);
  expect(asked.pending.at(-1)?.reason).toBe('waits for the release');

  // #region decisions
  const [bob, eve, question, deployment] = asked.pending.map(({ toolUseId }) => toolUseId);
  const first: readonly Decision[] = [
    { toolUseId: bob!, type: 'edit', input: { to: 'Bob', amount: 50 } }, // runs with these arguments
    { toolUseId: eve!, type: 'reject', reason: 'Not Eve.' }, // the model reads the reason
    { toolUseId: question!, type: 'result', output: 'Yes, now.' },
  ];
  const some = await agent.call(first); // the remaining call suspends again
  console.assert(some.reason === 'suspended' && some.pending.length === 1);

  released = true;
  const done = await agent.call([{ toolUseId: deployment!, type: 'approve' }]); // runs the tool
  // #endregion

  expect(paid).toEqual(['Bob 50']);
  expect(some.pending.map(({ name }) => name)).toEqual(['deploy']);
  expect(done.text).toBe('All done.');
  expect(model.requests[1]?.messages.flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'payment 1',
    'Tool call rejected: Not Eve.',
    'Yes, now.',
    'Deployed.',
  ]);
});

test('an agent rejects new questions and wrong decisions while tool calls are open', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'ask_user' }] }, 'Never mind.']);
  const askUser = tool({ name: 'ask_user', description: 'Asks the user', input: {} });
  const agent = new ReActAgent({ name: 'assistant', model, tools: [askUser] });
  const { pending } = await agent.call('Ask me.');
  const id = pending[0]!.toolUseId;
  await expect(agent.call('Hello?')).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: [id] },
  });
  await expect(agent.call([{ toolUseId: 'nope', type: 'approve' }])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  const approve: Decision = { toolUseId: id, type: 'approve' };
  await expect(agent.call([approve, approve])).rejects.toMatchObject({ code: 'INVALID_DECISION' });
  expect((await agent.call()).reason).toBe('suspended');

  const forgiving = new ReActAgent({
    name: 'assistant',
    model,
    tools: [askUser],
    memory: new InMemoryMemory(await agent.messages()),
    use: [closeOpenCalls()],
  });
  expect((await forgiving.call('Never mind.')).text).toBe('Never mind.');
});

test('an agent repeats an interrupted tool call, reports it or asks about it, as the option `replay` of the tool says', async () => {
  const ran: string[] = [];
  const names = ['read_page', 'send_mail', 'book_room'];
  const open = names.map((name) => ({ type: 'tool_use', id: name, name, input: {} }) as const);
  const memory = new InMemoryMemory([userMessage('Go.'), assistantMessage(open)]);
  const model = new ScriptedModel(['Done.']);
  const [read, mail, book] = names.map((name) => () => `${name} ${ran.push(name)}`) as [
    () => string,
    () => string,
    () => string,
  ];

  // #region replay
  const tools = [
    tool({
      name: 'read_page',
      description: 'Reads a page',
      input: z.object({}),
      execute: read,
      replay: 'safe',
    }), // runs again
    tool({ name: 'send_mail', description: 'Sends a mail', input: z.object({}), execute: mail }), // default 'never': gets an "interrupted" result
    tool({
      name: 'book_room',
      description: 'Books a room',
      input: z.object({}),
      execute: book,
      replay: 'ask',
    }), // asks for a decision
  ];
  const agent = new ReActAgent({ name: 'assistant', model, memory, tools }); // its host died while these three tools ran
  const { pending } = await agent.call(); // no input: continues from the log
  console.assert(pending[0]?.kind === 'replay');
  // #endregion

  expect(pending.map(({ kind, name }) => [kind, name])).toEqual([['replay', 'book_room']]);
  expect(ran).toEqual(['read_page']);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
    'read_page success',
    'send_mail interrupted',
  ]);
  expect((await agent.call([{ toolUseId: 'book_room', type: 'approve' }])).text).toBe('Done.');
  expect(ran).toEqual(['read_page', 'book_room']);
});

test('approvals() asks a person before a tool runs', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'send_mail', input: { to: 'Bob' } }, { name: 'read_page' }] },
    'Sent.',
  ]);
  const tools = ['send_mail', 'read_page'].map((name) =>
    tool({ name, description: '', input: {}, execute: () => name }),
  );
  const askOnPage = async (question: string, input: unknown): Promise<boolean> =>
    `${question} ${JSON.stringify(input)}` === 'A mail goes out. {"to":"Bob"}';

  // #region human-in-the-loop
  const people = approvals({
    needsApproval: { send_mail: 'A mail goes out.', 'delete_*': true },
    decide: async ({ name, input, reason = name }) =>
      (await askOnPage(reason, input)) ? { type: 'approve' } : { type: 'reject' },
    timeoutMs: 60_000, // after this time, the tool call is rejected
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools, use: [people] });
  const { text } = await agent.call('Write to Bob.'); // waits for askOnPage
  // #endregion

  expect(text).toBe('Sent.');
});
