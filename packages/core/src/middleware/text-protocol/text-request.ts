import { misconfigured } from '../../error/agent-error.ts';
import { systemMessage, textOf } from '../../message/msg.ts';
import { systemTextAdder } from '../../message/system-message.ts';
import {
  type ModelFeatures,
  type ModelRequest,
  type ToolChoice,
  type ToolSchema,
  offersTools,
} from '../../model/chat-model.ts';
import { textHistory } from '../../message/text-history.ts';
import { describeTools } from '../../tool/describe-tools.ts';

interface TextRequestOptions extends Pick<ToolsPromptContext, 'parallel'> {
  readonly media: ModelFeatures['media'];
  readonly prompt: (context: ToolsPromptContext) => string;
}

/**
 * Returns a function that converts an agent's request into a request for a model without native
 * tool calls.
 */
export function textRequests({
  media,
  parallel,
  prompt,
}: TextRequestOptions): (request: ModelRequest) => ModelRequest {
  const history = textHistory(media);
  const descriptions = new WeakMap<ToolSchema, string>();
  const addPrompt = systemTextAdder((text) => systemMessage(text, { id: 'tools' }));
  return (request) => {
    const { toolChoice = 'auto', ...rest } = request;
    const messages = history(request.messages);
    if (!offersTools(request) || toolChoice === 'none') return { ...rest, messages, tools: [] };
    const { tools } = request;
    const [first] = messages;
    const described = describeTools(tools, descriptions);
    const isDescribed = first?.role === 'system' && textOf(first).includes(described);
    const toolsText = isDescribed ? '' : described;
    const text = prompt({ tools, toolsText, parallel, toolChoice });
    if (typeof text !== 'string')
      throw misconfigured('textToolCalls(): prompt must return a string.');
    return { ...rest, messages: addPrompt(messages, text), tools: [] };
  };
}

/**
 * What the prompt of `textToolCalls()` may tell the model: the tools and whether it must call one.
 */
export interface ToolsPromptContext {
  readonly tools: readonly ToolSchema[];
  /**
   * Name, description and JSON Schema of each tool as text, with blank lines between the tools.
   * Empty if the system prompt already has this text.
   */
  readonly toolsText: string;
  /** Whether a reply may make several tool calls. */
  readonly parallel: boolean;
  /** `auto`, `required`, or the tool that the model has to call. */
  readonly toolChoice: Exclude<ToolChoice, 'none'>;
}

/**
 * Returns the text that tells the model about its tools. The text is added after the system prompt.
 */
export function toolsPrompt({ toolsText, parallel, toolChoice }: ToolsPromptContext): string {
  const several = parallel
    ? 'To call several tools at once, make it a list of such objects.'
    : 'Call one tool at a time.';
  const forced =
    typeof toolChoice === 'object' ? `Call the tool "${toolChoice.name}" now.` : 'Call a tool now.';
  const lines = [
    '# Tools',
    '',
    `You can call the tools ${toolsText ? 'below' : 'above'}. To call one, reply with nothing but a block like this:`,
    '',
    '```json',
    '{"think": "why, in short", "tool_name": "its name", "arguments": {}}',
    '```',
    '',
    `"arguments" is an object that fits the tool's JSON Schema, or {} if there are none. ${several} Write strict JSON.`,
    'Then stop: the next message has the results, as "Tool [name] execution result: …". Never write results yourself.',
    'When you know enough, answer in words, without such a block.',
    ...(toolChoice === 'auto' ? [] : [forced]),
    ...(toolsText ? ['', toolsText] : []),
  ];
  return lines.join('\n');
}
