import { expect, test } from 'vitest';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { callSession } from '../session/commands.ts';
import type { AgentSessionClass } from '../settings/handler-options.ts';
import { withOperatorNews } from './operator-news.ts';

class SilentSession {
  async fetch(): Promise<Response> {
    return Response.json({});
  }
  async alarm(): Promise<void> {}
}

test('a request for news ends before Bun and proxies cut a silent connection', async () => {
  const clock = fakeClock();
  const Session = withOperatorNews(SilentSession as unknown as AgentSessionClass);
  const session = new Session({} as DurableObjectState, {});
  const ask = (seenPosition: string): Promise<Response> => {
    const command = { type: 'changes', seenPosition } as const;
    const request = { user: 'ann', sessionId: 's', requestId: 'r', command };
    return callSession(
      () => ({ fetch: async (...sent) => session.fetch!(new Request(...sent)) }),
      request,
    );
  };
  const { position } = (await (await ask('')).json()) as { readonly position: string };
  const waiting = ask(position);
  await clock.waitFor(() => expect(clock.pendingTimers()).toBe(1));
  // Bun's limit is 10 seconds, and the answer needs time on its way.
  await clock.advance(8_000);
  expect(clock.pendingTimers()).toBe(0);
  expect((await waiting).status).toBe(204);
});
