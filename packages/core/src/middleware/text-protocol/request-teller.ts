import { misconfigured } from '../../error/agent-error.ts';
import { systemMessage } from '../../message/create-message.ts';
import { textOf } from '../../message/message-text.ts';
import { systemTextAdder } from '../../message/system-message.ts';
import type { ModelFeatures, ModelRequest, ToolSchema } from '../../model/chat-model.ts';
import { textHistory } from '../../message/text-history.ts';
import { describeTools } from '../../tool/describe-tools.ts';
import { offersTools } from '../../model/chat-model.ts';
import type { ToolsPromptContext } from './tools-prompt.ts';

interface TellerOptions extends Pick<ToolsPromptContext, 'parallel'> {
  readonly media: ModelFeatures['media'];
  readonly prompt: (context: ToolsPromptContext) => string;
}

/**
 * Returns a function that converts an agent's request into a request for a model without native
 * tool calls.
 */
export function requestTeller(options: TellerOptions): (request: ModelRequest) => ModelRequest {
  const { media, parallel, prompt } = options;
  const history = textHistory(media);
  const descriptions = new WeakMap<ToolSchema, string>();
  const tell = systemTextAdder((text) => systemMessage(text, { id: 'tools' }));
  return (request) => {
    const { toolChoice = 'auto', ...rest } = request;
    const messages = history(request.messages);
    if (!offersTools(request) || toolChoice === 'none') return { ...rest, messages, tools: [] };
    const { tools } = request;
    const [first] = messages;
    const described = describeTools(tools, descriptions);
    const isTold = first?.role === 'system' && textOf(first).includes(described);
    const toolsText = isTold ? '' : described;
    const text = prompt({ tools, toolsText, parallel, toolChoice });
    if (typeof text !== 'string')
      throw misconfigured('textToolCalls(): prompt must return a string.');
    return { ...rest, messages: tell(messages, text), tools: [] };
  };
}
