import { AgentError, type Awaitable } from '@isoloop/core';
import { checkId, checkOptions, func, type OptionTable } from '@isoloop/core/options';
import { operatorMessage } from '@isoloop/core/several';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { logIn } from '../http/access.ts';
import { checkNames, readJson } from '../http/request-body.ts';
import { withOperatorNews, type ChangesCommand } from './operator-news.ts';
import { askSession, callSession, requestOf, unknownSessionError } from '../session/commands.ts';
import { openTurn } from '../answer/live-response.ts';
import { checkSessionId, setupOf } from '../session/setup.ts';
import { messagesRoute } from '../routes/messages-route.ts';
import { fieldError } from '@isoloop/core/host';
import type { EndpointPart, Identify } from '../settings/endpoint-part.ts';
import { sendTurn } from '../session/send-turn.ts';

/** A person who answers in the assistant's place. */
export interface Operator {
  /** Name that users and the model see. */
  readonly name: string;
}

/** Who may answer in the assistant's place, in which conversations. */
export interface OperatorDeskOptions<Env = object> {
  /**
   * Function that identifies the operator of a request. If it returns `null` or fails, the response
   * is 401. `chat`: the conversation and its user. The `authorize` of the endpoint is not asked.
   * The rate limit counts an operator's requests under `operator:` and the name, and failed logins
   * by address.
   */
  readonly authorize: (
    request: Request,
    env: Env,
    chat: { readonly user: string; readonly sessionId: string },
  ) => Awaitable<Operator | null>;
}

/**
 * Creates the routes with which a person answers in the assistant's place. Give the agent
 * `operator()` of `@isoloop/core/several` too; without it, the agent answers the person. `user`
 * and `id` name the conversation.
 *
 * - `GET /api/operator/:user/:id` returns its messages, in the form of `GET
 *   /api/chat/:id/messages`.
 * - `POST /api/operator/:user/:id` with `{ action, text }` stores a message of the person. The
 *   answer is that of `POST /api/run`. `join` first ends the running answer, if the conversation
 *   is in a Durable Object. With `leave`, the agent answers again.
 * - `GET /api/chat/:id/changes?after=` is for the user's page, with the `authorize` of the
 *   endpoint. It waits up to 7 seconds for a message of an operator in a Durable Object. It
 *   answers `{ position }` for the next request, or 204 if there was none.
 *
 * Throws `CONFIGURATION` without `authorize`.
 *
 * @example
 * createAgentHandler<Env>({
 *   agent: ({ memory }) => new ReActAgent({ name: 'assistant', model, memory, use: [operator()] }),
 *   operator: operatorDesk({ authorize: (request, env) => memberOf(request, env) }),
 * });
 */
export function operatorDesk<Env extends object>(
  options: OperatorDeskOptions<Env>,
): EndpointPart<Env> {
  checkOptions('operatorDesk()', options, operatorDeskOptions);
  const { authorize } = options as unknown as OperatorDeskOptions;
  const enter: Identify = async (c) => {
    const name = await operatorOf(c, authorize);
    operatorNames.set(c, name);
    return `operator:${name}`;
  };
  return {
    routes: {
      '/api/operator/:user/:id': { enter, GET: messagesRoute, POST: sayRoute },
      '/api/chat/:id/changes': { GET: changesRoute },
    },
    session: withOperatorNews,
  };
}

const operatorDeskOptions: OptionTable<OperatorDeskOptions<object>> = { authorize: func };

/** Maximum length of an operator's message, in characters. */
const maxTextLength = 100_000;

/** The names of the operators of requests. */
const operatorNames = new WeakMap<Context<EdgeEnv>, string>();

/** Identifies the operator, and makes the conversation's user the user of the request. */
async function operatorOf(
  c: Context<EdgeEnv>,
  authorize: OperatorDeskOptions['authorize'],
): Promise<string> {
  const sessionId = checkSessionId(c.req.param('id'));
  const user = c.req.param('user');
  checkId(user, 'user in the path');
  const name = await logIn(c, async () => {
    const operator = await authorize(c.req.raw, c.env, { user, sessionId });
    const operatorName: unknown = operator?.name;
    return typeof operatorName === 'string' && operatorName.trim() ? operatorName : undefined;
  });
  c.set('caller', { user, mayEdit: false });
  return name;
}

async function changesRoute(c: Context<EdgeEnv>): Promise<Response> {
  const { sessionId } = setupOf(c);
  const home = c.get('home');
  if (home.kind !== 'object') {
    const message = 'Only sessions in CHAT_SESSION can wait for messages.';
    throw new AgentError('NEEDS_DURABLE_OBJECT', message);
  }
  const command: ChangesCommand = { type: 'changes', seenPosition: c.req.query('after') ?? '' };
  return callSession(home.objects, requestOf(c, sessionId, command));
}

async function sayRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const name = operatorNames.get(c)!;
  const setup = setupOf(c);
  const body = await readJson(c.req.raw, settings.limits.bodyBytes);
  checkNames(body, ['action', 'text']);
  const { action = 'say', text } = body;
  if (action !== 'join' && action !== 'say' && action !== 'leave')
    throw fieldError('action', 'must be "join", "say" or "leave"');
  if (typeof text !== 'string' || !text.trim() || text.length > maxTextLength)
    throw fieldError('text', `must be a text of at most ${maxTextLength} characters`);
  const response = await messagesRoute(c);
  if (!response.ok) return response;
  const { messages } = (await response.json()) as { readonly messages: readonly unknown[] };
  if (!messages.length) throw unknownSessionError();
  if (action === 'join')
    await askSession(c, setup.sessionId, { type: 'interrupt', mode: 'abort', reason: undefined });
  const message = operatorMessage(text, { name, action });
  const format = { kind: 'events' } as const;
  const answer = sendTurn(c, settings, setup, {
    request: { kind: 'messages', messages: [message] },
    model: settings.models[0]!,
    format,
    echoSetup: { withoutEcho: 'latest' },
  });
  return openTurn(c, settings, format, answer);
}
