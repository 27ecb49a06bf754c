import { AgentError, type Memory } from '@isoloop/core';
import type { Context } from 'hono';
import type {
  AgentSetup,
  EdgeEnv,
  HandlerSettings,
  MemorySetup,
  SessionAgent,
  SessionSetup,
} from '../settings/handler-options.ts';
import { echoHeader } from '../http/header-names.ts';

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

/**
 * Reads the echo from the header. Without an echo, the turn continues from the latest state that
 * the store returns.
 */
export function readEcho(c: Context<EdgeEnv>): Pick<MemorySetup, 'echo' | 'withoutEcho'> {
  const echo = c.req.header(echoHeader);
  return { ...(echo !== undefined && { echo }), withoutEcho: 'latest' };
}

/** Returns the memory's echo, if it has one. The client sends this echo with its next request. */
export function echoOf(memory: Memory): string | undefined {
  const { echo } = memory as { readonly echo?: unknown };
  return typeof echo === 'string' ? echo : undefined;
}

/** Calls the `agent` factory, and returns the agent with its callbacks. */
export async function makeAgent(
  { agent }: Pick<HandlerSettings, 'agent'>,
  setup: AgentSetup,
): Promise<SessionAgent> {
  const result = await agent(setup);
  return 'agent' in result ? result : { agent: result };
}
