import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { boundEndpoint, places, type Bound, type Place } from '../../test-support/both-bindings.ts';
import { payments } from '@test/claims/payments.ts';

const asks = { toolCalls: [{ id: 'c1', name: 'pay', input: { sum: 5 } }] };

async function waiting(place: Place, options: Parameters<typeof boundEndpoint>[3] = {}) {
  const { paid, pay } = payments();
  const bound = boundEndpoint(place, [asks, 'Done.'], { tools: [pay] }, options);
  await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay.' })).text();
  return { bound, paid };
}

type Send = (bound: Bound, input: unknown) => Promise<Response>;

/** Sends what the hook sends: the approval of the last answer has the arguments. */
async function asChat({ post, id, messages }: Bound, input: unknown): Promise<Response> {
  const answer = (await messages()).at(-1)!;
  const parts = answer.parts.map((part) =>
    'approval' in part
      ? { ...part, state: 'approval-responded', approval: { id: 'c1', approved: true, input } }
      : part,
  );
  return post('/api/chat', { id, messages: [{ ...answer, parts }] });
}

const asRun: Send = ({ post, id }, input) =>
  post('/api/run', { sessionId: id, decisions: [{ type: 'edit', toolUseId: 'c1', input }] });

const ways = [
  ['/api/chat', asChat],
  ['/api/run', asRun],
] as const;
const cells = places.flatMap((place) => ways.map(([path, send]) => ({ place, path, send })));

const inputOf = (messages: readonly UIMessage[]): unknown =>
  messages.flatMap(({ parts }) => parts).find((part) => 'toolCallId' in part);

test.each(cells)(
  '$place: an edit by $path runs the tool with the new arguments, and the model reads them',
  async ({ place, send }) => {
    const { bound, paid } = await waiting(place);
    const response = await send(bound, { sum: 7 });
    expect(response.status).toBe(200);
    await response.text();
    expect(paid).toEqual([7]);
    expect(inputOf(await bound.messages())).toMatchObject({ input: { sum: 7 }, output: 'paid 7' });
    const { messages } = bound.model.requests[1]!;
    expect(JSON.stringify(messages.map(({ content }) => content))).not.toContain('"sum":5');
    const edited = messages.find(({ metadata }) => metadata?.['edited']);
    expect(JSON.stringify(edited?.metadata)).toContain('5');
  },
);

test.each(cells)(
  '$place: an edit by $path that does not fit the schema is refused, and the call waits',
  async ({ place, send }) => {
    const { bound, paid } = await waiting(place);
    for (const input of [{ sum: 'much' }, {}, 'x', null]) {
      const response = await send(bound, input);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { code: 'INVALID_DECISION', message: expect.stringContaining('do not fit') } },
      ]);
    }
    expect(paid).toEqual([]);
    expect(inputOf(await bound.messages())).toMatchObject({
      state: 'approval-requested',
      input: { sum: 5 },
    });
    await (await send(bound, { sum: 8 })).text();
    expect(paid).toEqual([8]);
  },
);

test.each(cells)(
  '$place: `authorize` decides whether a user may edit by $path',
  async ({ place, send }) => {
    const { bound, paid } = await waiting(place, {
      authorize: (request) => {
        const user = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
        return { user, mayEdit: false };
      },
    });
    const response = await send(bound, { sum: 7 });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'INVALID_DECISION' } },
    ]);
    const approve = { type: 'approve', toolUseId: 'c1' };
    await (await bound.post('/api/run', { sessionId: bound.id, decisions: [approve] })).text();
    expect(paid).toEqual([5]);
  },
);
