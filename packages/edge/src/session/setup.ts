import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type {
  AgentSetup,
  EdgeEnv,
  HandlerSettings,
  SessionAgent,
  SessionSetup,
} from '../settings/handler-options.ts';

/**
 * Checks and returns a session id that a client posted. A session id is 1 to 128 letters, digits,
 * `_`, `-`, `.` and `:`. Throws `INVALID_INPUT` for any other id, and for `.` and `..`. `param`:
 * name of the field with the id.
 */
export function checkSessionId(id: unknown, param = 'id'): string {
  // URLs treat `.` and `..` as folders, so nobody could read, stop or delete such a session.
  if (typeof id === 'string' && /^(?!\.\.?$)[\w.:-]{1,128}$/.test(id)) return id;
  throw new AgentError(
    'INVALID_INPUT',
    'The session id must be 1 to 128 letters, digits, "_", "-", "." and ":", and not "." or "..".',
    { details: { param } },
  );
}

/** Returns the identity of a session of the request's user. Default: the session in the path. */
export function setupOf(
  c: Context<EdgeEnv>,
  sessionId: string = checkSessionId(c.req.param('id')),
): SessionSetup {
  return { env: c.env, user: c.get('caller').user, sessionId };
}

/** Calls the `agent` factory, and returns the agent with its callbacks. */
export async function makeAgent(
  { agent }: Pick<HandlerSettings, 'agent'>,
  setup: AgentSetup,
): Promise<SessionAgent> {
  const result = await agent(setup);
  return 'agent' in result ? result : { agent: result };
}
