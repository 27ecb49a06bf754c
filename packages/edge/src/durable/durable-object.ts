import { addSecretsOf } from '../http/secrets.ts';
import { UserList } from './user-list.ts';
import type { AgentSessionClass, HandlerSettings } from '../settings/handler-options.ts';
import { answerCommand, answerRequest, noContent } from '../session/command-handler.ts';
import type { SessionRequest } from '../session/commands.ts';
import { ObjectHost } from './object-host.ts';

/**
 * Returns the Durable Object class of the endpoint. An object of the class stores one session. The
 * object with an empty session id stores the list of a user's sessions.
 */
export function durableObject(settings: HandlerSettings): AgentSessionClass {
  // Does not extend `DurableObject` of `cloudflare:workers`, so that tests can import the endpoint
  // in any runtime.
  return class AgentSession {
    readonly #host: ObjectHost;
    readonly #list: UserList;

    constructor(ctx: DurableObjectState, env: object) {
      addSecretsOf(settings, env);
      this.#host = new ObjectHost(ctx.storage, env, settings);
      this.#list = new UserList(ctx.storage);
    }

    async fetch(request: Request): Promise<Response> {
      const sessionRequest = await request.json<SessionRequest>();
      const { command } = sessionRequest;
      return answerRequest(settings, sessionRequest, async () => {
        switch (command.type) {
          case 'turn':
            return this.#host.turn(sessionRequest, command);
          case 'list':
            return Response.json({ chats: this.#list.page(command) });
          case 'put-in-list':
            this.#list.put(command.session);
            return noContent();
          case 'take-from-list':
            this.#list.remove(command.sessionId);
            return noContent();
          default:
            return answerCommand(this.#host, sessionRequest);
        }
      });
    }

    alarm(): Promise<void> {
      return this.#host.alarm();
    }
  };
}
