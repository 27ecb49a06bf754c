import { messageOf, invalidInput } from '../../../error/agent-error.ts';
import { assistantMessage, type MessageContext } from '../../../message/create-message.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import type { JsonObject } from '../../../message/json/json.ts';
import { objectInput } from '../../../schema/object-input.ts';
import type { LongTermMemory } from '../../../search/long-term-contract.ts';
import {
  recalledText,
  type LongTermPhase,
  type RecordSearch,
  type ReportLongTerm,
} from './record-search.ts';
import { tool, type Tool, type ToolContext } from '../../../tool/tool.ts';

export interface LongTermToolsOptions {
  readonly memory: Pick<LongTermMemory, 'record'>;
  readonly search: RecordSearch;
  readonly context: MessageContext;
  readonly report: ReportLongTerm;
}

/**
 * Returns the two tools with which the model uses its memory (AgentScope: `LongTermMemoryTools`). A
 * failure of the memory becomes an error result.
 */
export function longTermTools(options: LongTermToolsOptions): readonly Tool[] {
  const { memory, search, context, report } = options;
  const attempt = async <T>(
    phase: LongTermPhase,
    { signal }: ToolContext,
    work: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted) report(error, phase);
      // Throws an error without a code, because some error codes of a memory would end the agent
      // call.
      throw new Error(`The long-term memory failed: ${messageOf(error)}`, { cause: error });
    }
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
        await attempt('record', toolContext, async () => {
          for (const fact of facts)
            await memory.record([assistantMessage(fact, context)], { sessionId, signal });
        });
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
        const found = await attempt('recall', toolContext, () => search.find(query, toolContext));
        return recalledText(found, search.maxTokens) || 'Nothing was found.';
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
