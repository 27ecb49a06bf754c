import type { AgentEvent, EventOf } from '../event/agent-event.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { JsonObject } from '../message/json.ts';
import type { Msg, Role } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { fitRequest } from './fit-request.ts';
import type { Jump } from './jump.ts';
import { readReply, type Reply } from './reply/read-reply.ts';
import type { Run } from './run/run.ts';

type EventType = AgentEvent['type'];

/** The fields of an event that its sender gives. */
export type EventFields<K extends EventType> = Omit<
  EventOf<K>,
  'type' | 'runId' | 'sessionId' | 'seq' | 'iteration' | 'agentPath' | 'at'
>;

/** What an output mode, `onLimit` and a direct answer can have the loop do. */
export interface LoopSteps {
  /** The messages of the next request, made to fit. */
  fit(): Promise<readonly Msg[]>;
  /**
   * One request beyond the iterations, without tools, with `pre-summary` before it. What it is made
   * of beside the log is not stored. `adapt` has the last word on the request.
   */
  ask(messages: readonly Msg[], adapt?: (request: ModelRequest) => ModelRequest): Promise<Reply>;
  /** Puts messages into the log and the next requests. */
  append(messages: readonly Msg[]): Promise<void>;
  /** Puts messages into the next requests alone. */
  show(messages: readonly Msg[]): void;
  /** Takes messages out of the log and puts others at its end. */
  rewrite(gone: readonly string[], messages: readonly Msg[]): Promise<void>;
  /** Tells the hooks and the reader. */
  notify<K extends EventType>(type: K, fields: EventFields<K>): Promise<void>;
  /**
   * Lets the hooks have a message. What they make of it is announced before it is given out (law 2).
   */
  revise(type: 'post-reasoning' | 'post-summary', message: Msg): Promise<Msg>;
  /** A new message with the run's clock and ids. */
  message(
    role: Role,
    content: string | readonly ContentBlock[],
    options?: { readonly id?: string; readonly metadata?: JsonObject },
  ): Msg;
  /** What the result of a call has as its message if it fails from now on. */
  leave(message: Msg): void;
}

export function loopSteps(run: Run): LoopSteps {
  return {
    fit: () => fitRequest(run),
    ask: (messages, adapt) => ask(run, messages, adapt),
    append: (messages) => run.append(messages),
    show: (messages) => run.show(messages),
    async rewrite(gone, messages) {
      const { memory } = run.setup;
      // Begun together, so that a store that can writes both at once.
      await Promise.all([memory.delete(gone), messages.length && memory.append(messages)]);
      run.view = [...run.view.filter(({ id }) => !gone.includes(id)), ...messages];
    },
    notify: (type, fields) => run.tell(type, fields),
    revise: (type, message) => run.revise(type, message),
    message: (role, content, options) => run.message(role, content, options),
    leave(message) {
      run.remains = message;
    },
  };
}

async function ask(
  run: Run,
  messages: readonly Msg[],
  adapt = (request: ModelRequest): ModelRequest => request,
): Promise<Reply> {
  const stop = (): void => {
    run.stopped ??= { to: 'stop' } satisfies Jump;
  };
  const before = await run.modify('pre-summary', { messages }, { stop });
  await run.push([before]);
  if (run.stopped) return { type: 'cut' };
  const { toolChoice: _toolChoice, ...generate } = run.generate;
  const request = adapt({ ...generate, messages: before.messages, tools: [] });
  return readReply(run, request, 'summary');
}
