import { misconfigured } from '../../error/agent-error.ts';
import { createMessage } from '../../message/create-message.ts';
import { textOf, withSystemText } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
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
export function requestTeller({
  media,
  parallel,
  prompt,
}: TellerOptions): (request: ModelRequest) => ModelRequest {
  const history = textHistory(media);
  const described = new WeakMap<ToolSchema, string>();
  let known:
    | { readonly before: Msg | undefined; readonly text: string; readonly message: Msg }
    | undefined;
  return (request) => {
    const { toolChoice = 'auto', ...rest } = request;
    const messages = history(request.messages);
    if (!offersTools(request) || toolChoice === 'none') return { ...rest, messages, tools: [] };
    const { tools } = request;
    const before = messages[0]?.role === 'system' ? messages[0] : undefined;
    const toolsText = describeTools(tools, described);
    const text = prompt({
      tools,
      toolsText: before && textOf(before).includes(toolsText) ? '' : toolsText,
      parallel,
      toolChoice,
    });
    if (typeof text !== 'string')
      throw misconfigured('textToolCalls(): prompt must return a string.');
    // Reuses the message object, because the message's wire form is cached by object.
    if (known?.before !== before || known?.text !== text)
      known = { before, text, message: withText(before, text) };
    return { ...rest, messages: [known!.message, ...messages.slice(before ? 1 : 0)], tools: [] };
  };
}

function withText(system: Msg | undefined, text: string): Msg {
  return system ? withSystemText(system, text) : createMessage('system', text, { id: 'tools' });
}
