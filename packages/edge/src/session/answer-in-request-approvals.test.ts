import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  type AgentOptions,
  type Tool,
} from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { Toolkit, joinTools } from '@isoloop/core/tool';
import { hasApprovalResponse } from '@isoloop/core/stream';
import { approvals } from '@isoloop/core/approval';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { boundEndpoint, type Bound, type Place } from '../../test-support/both-bindings.ts';
import { color, payments } from '@test/claims/payments.ts';

const strict = { approvals: undefined };
const inKv: readonly Place[] = ['KV', 'KV with echoes'];
const asksToPay: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay', input: { sum: 5 } }] };
const input = { type: 'object' } as const;
const free = tool({ name: 'free', description: '', input, execute: () => 'done' });

/** Returns a tool that calls a child agent. The child's model gives `replies`. */
function child(options: Partial<AgentOptions>, replies: readonly ScriptedReply[] = []): Tool {
  const agent = new ReActAgent({ name: 'child', model: new ScriptedModel(replies), ...options });
  return agentTool(agent, { description: '' });
}

const { pay } = payments();
const ruled = approvals({ needsApproval: { free: true } });
const asking: readonly (readonly [what: string, options: Partial<AgentOptions>])[] = [
  ['a tool that needs approval', { tools: [free, pay] }],
  ['a tool that may need approval', { tools: [{ ...free, needsApproval: () => false }] }],
  ['an external tool that needs approval', { tools: [{ ...color, needsApproval: true }] }],
  ['a rule of approvals()', { tools: [free], use: [ruled] }],
  ['a rule of approvals() in a nested list', { tools: [free], use: [[ruled]] }],
  ['approvals() with `decide`', { tools: [free], use: [approvals({ decide: () => undefined })] }],
  ['middleware with a tool that needs approval', { use: [{ tools: [pay] }] }],
  [
    'a tool that needs approval in an inactive group',
    {
      tools: new Toolkit([{ ...pay, groups: ['money'] }], {
        groups: [{ name: 'money', description: '', active: false }],
      }),
    },
  ],
  [
    'joined toolkits with a tool that needs approval',
    { tools: joinTools([free], new Toolkit([pay])) },
  ],
  ['a child agent with a tool that needs approval', { tools: [child({ tools: [pay] })] }],
  ['a child agent with a rule of approvals()', { tools: [child({ tools: [free], use: [ruled] })] }],
  [
    'a child of a child agent with a tool that needs approval',
    { tools: [child({ tools: [child({ tools: [pay] })] })] },
  ],
];
const silent: typeof asking = [
  ['no tools', {}],
  ['a tool without approval', { tools: [{ ...free, needsApproval: false }] }],
  ['an external tool', { tools: [color] }],
  ['a child agent without approvals', { tools: [child({ tools: [free] })] }],
  ['a child agent that is created during the run', { tools: [laterChild([])] }],
  [
    'other middleware',
    { tools: new Toolkit([free]), use: [{ wrapTool: (call, next) => next(call) }] },
  ],
];

function laterChild(tools: readonly Tool[], replies: readonly ScriptedReply[] = []): Tool {
  const store = new MemoryStore();
  const model = new ScriptedModel(replies);
  return agentTool(
    ({ sessionId }) => {
      const memory = new SessionMemory(store, sessionId);
      return new ReActAgent({ name: 'purse', sessionId, memory, model, tools });
    },
    { name: 'purse', description: 'Pays' },
  );
}

const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const approved = { type: 'approve', toolUseId: 'c1' };
const requests: readonly (readonly [string, (bound: Bound) => Promise<Response>])[] = [
  ['/api/chat', ({ post, id }) => post('/api/chat', { id, messages: [message] })],
  ['/api/run', ({ post, id }) => post('/api/run', { sessionId: id, input: 'Hi' })],
  ['a decision', ({ post, id }) => post('/api/run', { sessionId: id, decisions: [approved] })],
  ...[true, false].flatMap((stream) => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const calls = [
      ['/v1/chat/completions', { model: 'offline', stream, messages }],
      ['/v1/responses', { model: 'offline', stream, input: 'Hi' }],
    ] as const;
    return calls.flatMap(
      ([path, body]) =>
        [
          [
            `${path} with a session, stream: ${stream}`,
            ({ post, id }: Bound) => post(path, body, undefined, { 'x-isoloop-session': id }),
          ],
          [`${path} without a session, stream: ${stream}`, ({ post }: Bound) => post(path, body)],
        ] as const,
    );
  }),
];
const codeOf = async (response: Response): Promise<readonly unknown[]> => {
  const { error } = JSON.parse(await response.text()) as { readonly error: object };
  return [response.status, (error as { readonly code?: string }).code];
};
const refusal = [501, 'NEEDS_DURABLE_OBJECT'];

for (const place of inKv) {
  test.for(asking)(
    `${place}: every request to an agent with %s fails with NEEDS_DURABLE_OBJECT before the model is asked`,
    async ([, options]) => {
      const bound = boundEndpoint(place, [asksToPay, 'Done.'], options, strict);
      for (const [what, send] of requests)
        expect([what, ...(await codeOf(await send(bound)))]).toEqual([what, ...refusal]);
      expect([bound.model.requests, await bound.messages()]).toEqual([[], []]);
    },
  );

  test.for(silent)(
    `${place}: an agent with %s works without a Durable Object`,
    async ([, options]) => {
      const bound = boundEndpoint(place, ['Hello.'], options, strict);
      const response = await bound.post('/api/chat', { id: bound.id, messages: [message] });
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('Hello.'),
      ]);
    },
  );

  test(`${place}: eight concurrent approvals run no tool; with approvals: at-least-once, an approval runs the tool`, async () => {
    const { paid, pay: mine } = payments();
    const bound = boundEndpoint(place, [asksToPay, 'Paid.'], { tools: [mine] });
    await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay' })).text();
    await bound.messages();
    const guarded = boundEndpoint(place, ['Paid.'], { tools: [mine] }, strict, bound);
    const all = Array.from({ length: 8 }, () =>
      guarded.post('/api/run', { sessionId: bound.id, decisions: [approved] }),
    );
    const codes = (await Promise.all(all)).map(codeOf);
    expect(await Promise.all(codes)).toEqual(Array.from({ length: 8 }, () => refusal));
    expect([paid, guarded.model.requests]).toEqual([[], []]);
    const again = boundEndpoint(place, ['Paid.'], { tools: [mine] }, {}, bound);
    await (await again.post('/api/run', { sessionId: bound.id, decisions: [approved] })).text();
    expect(paid).toEqual([5]);
  });

  test(`${place}: a decision that starts the tool is refused, also if the agent asks no more`, async () => {
    const { paid, pay: mine } = payments();
    const bound = boundEndpoint(place, [asksToPay], { tools: [mine] });
    await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay' })).text();
    await bound.messages();
    const tools = [{ ...mine, needsApproval: false }];
    const changed = boundEndpoint(place, ['No.'], { tools }, strict, bound);
    const edited = { type: 'edit', toolUseId: 'c1', input: { sum: 4 } };
    for (const decision of [approved, edited]) {
      const body = { sessionId: bound.id, decisions: [decision] };
      expect(await codeOf(await changed.post('/api/run', body))).toEqual(refusal);
    }
    expect(paid).toEqual([]);
  });

  const late: readonly (readonly [string, (mine: Tool) => Tool, string])[] = [
    [
      'of a child agent that is created during the run',
      (mine) => laterChild([mine], [asksToPay, 'Done.']),
      'call_purse',
    ],
    ['of a tool that suspends its call', (mine) => suspending(mine), 'pay'],
  ];
  test.for(late)(
    `${place}: the endpoint refuses to approve a call %s, which it could not detect before`,
    async ([, make, name]) => {
      const { paid, pay: mine } = payments();
      const call = { id: 'c1', name, input: { message: 'Pay', sum: 5 } };
      const replies = [{ toolCalls: [call] }, 'Tea, then.'];
      const bound = boundEndpoint(place, replies, { tools: [make(mine)] }, strict);
      const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
      await chat.sendMessage({ text: 'Pay' });
      const decisions = [approved];
      expect(
        await codeOf(await bound.post('/api/run', { sessionId: bound.id, decisions })),
      ).toEqual(refusal);
      await chat.addToolApprovalResponse({ id: 'c1', approved: true });
      expect([paid, bound.model.requests.length]).toEqual([[], 1]);
      const rejected = [{ type: 'reject', toolUseId: 'c1' }];
      const end = await bound.post('/api/run', { sessionId: bound.id, decisions: rejected });
      expect(await end.text()).toContain('Tea, then.');
      expect(paid).toEqual([]);
    },
  );

  test(`${place}: after a refused approval, a message denies the call and the chat continues`, async () => {
    const { paid, pay: mine } = payments();
    const purse = laterChild([mine], [asksToPay, 'Done.']);
    const call = { id: 'c1', name: 'call_purse', input: { message: 'Pay' } };
    const replies = [{ toolCalls: [call] }, 'Tea, then.'];
    const bound = boundEndpoint(place, replies, { tools: [purse] }, strict);
    const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await chat.sendMessage({ text: 'Pay' });
    await chat.addToolApprovalResponse({ id: 'c1', approved: true });
    await expect.poll(() => chat.error?.message).toContain('NEEDS_DURABLE_OBJECT');
    await chat.sendMessage({ text: 'Tea instead' });
    expect(chat.error).toBeUndefined();
    expect(chat.texts.at(-1)).toBe('Tea, then.');
    expect(paid).toEqual([]);
  });
}

/** Returns a tool that asks for approval with `suspend` instead of `needsApproval`. */
function suspending(paying: Tool): Tool {
  let asked = false;
  return tool({
    name: 'pay',
    description: '',
    input,
    execute: (given, context) => {
      if (asked) return paying.execute!(given, context);
      asked = true;
      return context.suspend('Pay?');
    },
  });
}

test('a Durable Object runs a call once for eight concurrent approvals, without the option `approvals`', async () => {
  const { paid, pay: mine } = payments();
  const bound = boundEndpoint('Durable Object', [asksToPay, 'Paid.'], { tools: [mine] }, strict);
  await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay' })).text();
  const all = Array.from({ length: 8 }, async () => {
    const answer = await bound.post('/api/run', { sessionId: bound.id, decisions: [approved] });
    return (await answer.text()).includes('INVALID_DECISION');
  });
  expect((await Promise.all(all)).filter((isRefused) => isRefused).length).toBe(7);
  expect(paid).toEqual([5]);
});

test('with a Durable Object bound, /v1 without a session answers, but does not run a tool that needs approval', async () => {
  const { paid, pay: mine } = payments();
  const bound = boundEndpoint('Durable Object', ['Hello.', asksToPay], { tools: [mine] }, strict);
  const ask = async (): Promise<Response> =>
    bound.post('/v1/chat/completions', {
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
    });
  expect(await (await ask()).text()).toContain('Hello.');
  expect(await codeOf(await ask())).toEqual([409, 'PENDING_TOOL_CALLS']);
  expect(paid).toEqual([]);
});
