import { toolNameOf } from './tool-name.ts';
import { argumentsOf } from '../../message/call-arguments.ts';
import { isRecord, parseJson, wellFormed } from '../../message/json.ts';
import { contentText } from '../../message/media/media.ts';
import type { ContentBlock, Msg, ToolUse } from '../../message/msg.ts';
import type { FitCallId } from './call-ids.ts';

/** Text for an empty user message. GLM, MiniMax and Anthropic refuse an empty content. */
const emptyMessage = '(empty message)';
/** Text for an empty tool result. Anthropic refuses an empty error. */
const emptyResult = '(no output)';

/**
 * Returns a message in a form that every server accepts. The log keeps the message as it came:
 *
 * - Tool calls have names that servers accept, and arguments that are a JSON object.
 * - Ids of tool calls have the form that `fitCallId` returns.
 * - No text is blank, unless its server added data to it, such as a signature. An assistant message
 *   may have no blocks then; the formatter leaves it out.
 */
export function fitMessage(message: Msg, fitCallId: FitCallId): Msg {
  const { role, content } = message;
  const fittedBlocks = content.flatMap((block) => {
    if (block.type !== 'text') return fitBlock(block, fitCallId);
    return block.text.trim() || block.providerMetadata ? block : [];
  });
  const isEmptyInput = role === 'user' && !fittedBlocks.some(({ type }) => type !== 'thinking');
  if (isEmptyInput) fittedBlocks.push({ type: 'text', text: emptyMessage });
  return { ...message, content: fittedBlocks };
}

function fitBlock(block: ContentBlock, fitCallId: FitCallId): ContentBlock {
  if (block.type === 'tool_use') {
    const fittedUse = { ...block, id: fitCallId(block.id), name: fitName(block.name) };
    return withFittedArguments(fittedUse);
  }
  if (block.type !== 'tool_result') return block;
  const { toolUseId, name, output } = block;
  return {
    ...block,
    toolUseId: fitCallId(toolUseId),
    name: fitName(name),
    output: contentText(output).trim() ? output : emptyResult,
  };
}

/** Returns a name that servers accept. Names of tools fit; models also invent other names. */
function fitName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  return toolNameOf(name.replace(/[^\w-]+/g, '_') || 'unnamed');
}

/**
 * Replaces other arguments than a JSON object with `{}`. The result of such a call tells the model
 * what was wrong. Replaces half surrogate pairs, because some servers parse the arguments.
 */
function withFittedArguments(use: ToolUse): ToolUse {
  const value = parseJson(argumentsOf(use));
  const input = isRecord(value) ? wellFormed(value) : {};
  const { raw: _raw, ...rest } = use;
  return input === value ? use : { ...rest, input };
}
