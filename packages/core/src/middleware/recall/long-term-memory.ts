import type { Middleware } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import {
  AgentError,
  invalidInput,
  messageOf,
  checkFields,
  checkOptions,
} from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { isAnswer, type AgentResult } from '../../event/agent-result.ts';
import { toolUsesOf, assistantMessage, type Msg } from '../../message/msg.ts';
import { isOwn } from '../../message/metadata.ts';
import { recalling } from './recalling.ts';
import {
  type LongTermMemoryOptions,
  type LongTermPhase,
  type LongTermSettings,
  type LongTermTurn,
  findRecords,
  recalledText,
  recallRecords,
} from './record-search.ts';
import { isRecord, type JsonObject } from '../../message/json.ts';
import { objectInput } from '../../schema/schema.ts';
import { tool, type Tool, type ToolContext } from '../../tool/tool.ts';

/** What `longTermMemory()` returns: middleware that tells when all recordings have ended. */
export interface LongTermMemoryMiddleware extends Middleware {
  /**
   * Resolves when all recordings have ended. Await `settled` before a shutdown and before you
   * delete a session. Never rejects.
   */
  settled(): Promise<void>;
}

/**
 * Adds long-term memory to an agent. Put this middleware in the agent's `use` list. It recalls
 * records from earlier conversations and stores new records.
 *
 * Recalled records are in a separate message between the system prompt and the conversation, or at
 * the end of the system prompt. Each model request of the agent call has them, but `Memory` does not
 * store them. A turn is recorded after it is in the session log. No turn is recorded if the agent
 * call was interrupted, aborted or rejected, failed, or waits for a decision. The same holds if a
 * hook stopped it before its answer. The reply does not wait for the recording.
 *
 * Throws `CONFIGURATION` for an unknown mode, role or scope, or for a limit that is not a number
 * above 0.
 */
export function longTermMemory(options: LongTermMemoryOptions): LongTermMemoryMiddleware {
  checkOptions('longTermMemory()', options, fields);
  checkFields('longTermMemory()', options, 'memory:record()');
  const { mode = 'both', role = 'user', onError, waitUntil } = options;
  const report: LongTermSettings['report'] = (error, phase) => {
    const message = `Long-term memory: ${phase} failed. The call continues without it.`;
    reportFailure(message, onError, AgentError.from(error), phase);
  };
  const settings = { ...options, report };
  const recordings = new Set<Promise<void>>();
  const inputOf = perRun((): { asked?: readonly Msg[] } => ({}));

  const automatic: Partial<Middleware> = {
    ...recalling({
      name: 'long_term_memory',
      ids: options,
      role: () => role,
      find(asked, context) {
        inputOf(context).asked = asked;
        return recallRecords(settings, asked, context);
      },
      report: (error) => report(error, 'recall'),
    }),
    onError: 'ignore',
    on: {
      'run-end': ({ result }, _control, context) => {
        const { asked } = inputOf(context);
        if (!asked || !hasAnswer(result)) return;
        const input = wholeInput(asked, context.messages);
        const turn = { sessionId: context.sessionId, input, answer: result.message };
        const recording = Promise.resolve()
          .then(() => record(turn, settings))
          .finally(() => recordings.delete(recording));
        recordings.add(recording);
        try {
          waitUntil?.(recording);
        } catch (error) {
          report(error, 'record');
        }
      },
    },
  };
  return {
    name: 'longTermMemory',
    ...(mode !== 'tools' && automatic),
    ...(mode !== 'auto' && { tools: longTermTools(settings) }),
    async settled() {
      while (recordings.size) await Promise.all(recordings);
    },
  };
}

const fields =
  'memory:retrieve() mode:auto|tools|both|? limit:natural|? maxTokens,timeoutMs:positive|? ' +
  'scope:all|session|other-sessions|? role:user|system|? ' +
  'select,waitUntil,onError,generateId,now:function|?';

/** Records a turn in a long-term memory. A failure is reported. */
async function record(
  turn: LongTermTurn,
  { memory, select = ({ input, answer }) => [...input, answer], report }: LongTermSettings,
): Promise<void> {
  try {
    const messages = select(turn);
    if (messages.length) await memory.record(messages, { sessionId: turn.sessionId });
  } catch (error) {
    report(error, 'record');
  }
}

/**
 * Returns whether an agent call ended with an answer. A hook may stop it before its answer; the
 * agent call that continues it then records the turn.
 */
function hasAnswer({ message, reason }: AgentResult): boolean {
  return isAnswer(reason) && message.content.length > 0 && !toolUsesOf(message).length;
}

/** Returns the input, and the messages that users added while the agent worked on it. */
function wholeInput(input: readonly Msg[], conversation: readonly Msg[]): readonly Msg[] {
  const ids = new Set(input.map(({ id }) => id));
  const start = conversation.findIndex(({ id }) => ids.has(id));
  if (start === -1) return input;
  const added = conversation
    .slice(start)
    .filter((message) => message.role === 'user' && !isOwn(message) && !ids.has(message.id));
  return [...input, ...added];
}

/**
 * Returns the two tools with which the model uses its memory (AgentScope: `LongTermMemoryTools`). A
 * failure of the memory becomes an error result.
 */
function longTermTools(settings: LongTermSettings): readonly Tool[] {
  const { memory, maxTokens, report } = settings;
  // Throws an error without a code, because some error codes of a memory would end the agent call.
  const fail = (cause: unknown, phase: LongTermPhase, { signal }: ToolContext): never => {
    if (!signal.aborted) report(cause, phase);
    throw new Error(`The long-term memory failed: ${messageOf(cause)}`, { cause });
  };
  return [
    tool({
      name: 'record_to_memory',
      description:
        'Stores facts for later conversations: what the user likes, plans, decided, or asks you to remember. Each fact must make sense by itself, without this conversation.',
      input: listOf('content', 'The facts, one sentence each.'),
      async execute(input, toolContext) {
        const { sessionId, signal } = toolContext;
        const facts = textsOf(input, 'content');
        try {
          for (const fact of facts)
            await memory.record([assistantMessage(fact, settings)], { sessionId, signal });
        } catch (error) {
          fail(error, 'record', toolContext);
        }
        return facts.length === 1 ? 'Recorded.' : `Recorded ${facts.length} facts.`;
      },
    }),
    tool({
      name: 'retrieve_from_memory',
      description:
        'Finds facts from earlier conversations. Use it before you ask the user for something they may have said before.',
      input: listOf('keywords', 'What to look for: names, topics, dates.'),
      replay: 'safe',
      async execute(input, toolContext) {
        const query = textsOf(input, 'keywords').join(' ');
        const searching = findRecords(settings, query, toolContext);
        const found = await searching.catch((error) => fail(error, 'recall', toolContext));
        return recalledText(found, maxTokens) || 'Nothing was found.';
      },
    }),
  ];
}

function listOf(name: string, description: string): JsonObject {
  return objectInput({ [name]: { type: 'array', items: { type: 'string' }, description } });
}

/**
 * Returns the texts of a list. Also accepts a single text, because some models send one text in
 * place of a list. Throws `INVALID_INPUT`, and the model gets the message.
 */
function textsOf(input: unknown, name: string): readonly string[] {
  const value = isRecord(input) ? input[name] : undefined;
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const said = texts.flatMap((text) =>
    typeof text === 'string' && text.trim() ? [text.trim()] : [],
  );
  if (said.length > 0 && said.length === texts.length) return said;
  throw invalidInput(`${name}: an array of strings that are not empty`);
}
