import type { AgentEvent, EventOf } from '../event/agent-event.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { Memory } from '../memory/memory.ts';
import type { JsonObject } from '../message/json/json.ts';
import type { Msg, Role } from '../message/msg.ts';
import { asOwn } from '../message/own-message.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { fitRequest } from './fit-request.ts';
import type { Jump } from './jump.ts';
import { readReply, type Reply } from './reply/read-reply.ts';
import { shownResults } from './shown-results.ts';
import type { Run } from './run/run.ts';

type EventType = AgentEvent['type'];

/** Fields of an event that the sender sets. The run sets the other fields. */
export type EventFields<K extends EventType> = Omit<
  EventOf<K>,
  'type' | 'runId' | 'sessionId' | 'seq' | 'iteration' | 'agentPath' | 'at'
>;

/** Functions of the loop that an output mode, `onLimit` or `DirectAnswer` may use. */
export interface LoopSteps {
  /** Returns the messages of the next model request, fitted to the model's context window. */
  fit(): Promise<readonly Msg[]>;
  /** Returns messages as the model sees them: long tool results are cut. */
  shown(messages: readonly Msg[]): readonly Msg[];
  /**
   * Sends one extra model request without tools, after the `pre-summary` hooks. The request does
   * not count as an iteration, and its messages are not stored. `adapt` changes the request after
   * the hooks.
   */
  ask(messages: readonly Msg[], adapt?: (request: ModelRequest) => ModelRequest): Promise<Reply>;
  /** Appends messages to the log and to later model requests. */
  append(messages: readonly Msg[]): Promise<void>;
  /** Appends messages to later model requests, but not to the log. */
  show(messages: readonly Msg[]): void;
  /** Removes messages from the log and appends others. */
  rewrite(gone: readonly string[], messages: readonly Msg[]): Promise<void>;
  /** Sends an event to the hooks, then to the readers. */
  notify<K extends EventType>(type: K, fields: EventFields<K>): Promise<void>;
  /**
   * Passes a message through the hooks and returns the message that they return. If the hooks
   * change the message, readers get a `step-reset` with the new message first.
   */
  revise(type: 'post-reasoning' | 'post-summary', message: Msg): Promise<Msg>;
  /**
   * Creates a message with the run's clock and ids. A user message is marked as the library's own,
   * because no speaker wrote it.
   */
  message(
    role: Role,
    content: string | readonly ContentBlock[],
    options?: { readonly id?: string; readonly metadata?: JsonObject },
  ): Msg;
  /** Sets the message of the result for the case that the agent call fails later. */
  leave(message: Msg): void;
}

export function loopSteps(run: Run): LoopSteps {
  return {
    async fit() {
      run.throwIfOver();
      return fitRequest(run);
    },
    shown: (messages) => shownResults(messages, run.setup.options.limits),
    async ask(messages, adapt) {
      run.throwIfOver();
      return ask(run, messages, adapt);
    },
    async append(messages) {
      run.throwIfOver();
      await run.append(messages);
    },
    show: (messages) => run.conversation.add(messages),
    async rewrite(gone, messages) {
      run.throwIfOver();
      const { memory } = run.setup;
      // The removed messages may contain results of finished tool calls. One write replaces them,
      // so that a crash cannot lose the results.
      const isOne = memory.rewrite && messages.length;
      const writes = isOne
        ? memory.rewrite!(gone, messages)
        : deleteThenAppend(memory, gone, messages);
      await run.writes.wait(writes);
      run.view = [...run.view.filter(({ id }) => !gone.includes(id)), ...messages];
    },
    async notify(type, fields) {
      run.throwIfOver();
      await run.tell(type, fields);
    },
    async revise(type, message) {
      run.throwIfOver();
      return run.revise(type, message);
    },
    message(role, content, options) {
      const message = run.message(role, content, options);
      return role === 'user' ? asOwn(message) : message;
    },
    leave(message) {
      run.remains = message;
    },
  };
}

async function deleteThenAppend(
  memory: Memory,
  gone: readonly string[],
  messages: readonly Msg[],
): Promise<void> {
  await memory.delete(gone);
  if (messages.length) await memory.append(messages);
}

async function ask(
  run: Run,
  messages: readonly Msg[],
  adapt = (request: ModelRequest): ModelRequest => request,
): Promise<Reply> {
  const stop = (): void => {
    run.stopped ??= { at: 'pre-summary', to: 'stop' } satisfies Jump;
  };
  const before = await run.modify('pre-summary', { messages }, { stop });
  await run.push([before]);
  if (run.stopped) return { type: 'cut' };
  const { toolChoice: _toolChoice, ...generate } = run.generate;
  const request = adapt({ ...generate, messages: before.messages, tools: [] });
  const reply = await readReply(run, request, 'summary');
  if (reply.type === 'whole') run.unsaved = reply.message;
  return reply;
}
