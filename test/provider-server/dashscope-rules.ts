import type { DashScopeMessage, DashScopeRequest, Service } from './dashscope-wire.ts';

/**
 * Returns the reason for which DashScope refuses a request, in the words of its documentation.
 * Returns undefined if DashScope accepts the request.
 */
export function refusal(
  { model, input, parameters = {} }: DashScopeRequest,
  service: Service,
): string | undefined {
  if (!model) return 'Required parameter "model" missing from request.';
  const messages = input?.messages;
  if (!Array.isArray(messages) || messages.length === 0)
    return 'Either "prompt" or "messages" must exist and cannot both be none';
  if (service === 'text' && parameters['result_format'] !== 'message' && parameters['tools'])
    return 'tools need result_format message';
  if (parameters['enable_thinking'] === true && parameters['incremental_output'] !== true)
    return 'The incremental_output parameter must be "true" when enable_thinking is true';
  const budget = parameters['thinking_budget'];
  if (budget !== undefined && !(Number.isInteger(budget) && Number(budget) > 0))
    return 'The thinking_budget parameter must be a positive integer';
  return (
    choiceRefusal(parameters) ??
    messages.map((message: DashScopeMessage) => messageRefusal(message, service)).find(Boolean)
  );
}

function choiceRefusal(parameters: Readonly<Record<string, unknown>>): string | undefined {
  const choice = parameters['tool_choice'];
  if (choice === undefined || choice === 'auto' || choice === 'none') return undefined;
  if (typeof choice !== 'object')
    return 'tool_choice is one of the strings that should be ["none", "auto"]';
  return parameters['enable_thinking'] === true
    ? 'The tool_choice parameter does not support being set to required or object in thinking mode'
    : undefined;
}

function messageRefusal(
  { role, content, tool_call_id }: DashScopeMessage,
  service: Service,
): string | undefined {
  if (!['system', 'user', 'assistant', 'tool'].includes(role ?? ''))
    return 'Role must be in [user, assistant, system, tool]';
  if (role === 'tool' && !tool_call_id) return 'messages with role "tool" must have a tool_call_id';
  if (service === 'text')
    return typeof content === 'string' ? undefined : 'url error, please check url!';
  if (!Array.isArray(content)) return 'Input should be a valid list: input.messages.content';
  return content.every(isPart) ? undefined : 'Input should be a valid part: input.messages.content';
}

function isPart(part: unknown): boolean {
  const keys = Object.keys(part ?? {});
  return keys.length === 1 && ['text', 'image', 'audio', 'video'].includes(keys[0] ?? '');
}
