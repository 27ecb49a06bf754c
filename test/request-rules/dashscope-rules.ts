import {
  answeredCalls,
  calledNames,
  calledResults,
  functionSchemas,
  objectArguments,
  toolNames,
} from './chat-rules.ts';
import { dashScopeParameters } from './known-fields.ts';
import {
  pathsOf,
  placeIn,
  placesIn,
  unknownFields,
  type Place,
  type RequestRule,
  type Wire,
} from './request-rule.ts';
import { wellFormedText } from './text-rules.ts';

const errors = 'https://www.alibabacloud.com/help/en/model-studio/error-code';
const reference = 'https://docs.qwencloud.com/api-reference/chat/dashscope';

const parametersOf = (request: Place): Wire => placeIn(request, 'parameters')?.value ?? {};

function messagesOf(request: Place): readonly Place[] {
  const input = placeIn(request, 'input');
  return input ? placesIn(input, 'messages') : [];
}

/** Returns the request in the form of chat completions: one object with messages and tools. */
function chatOf(request: Place): Place {
  const messages = placeIn(request, 'input')?.value['messages'];
  return { path: '', value: { ...parametersOf(request), messages } };
}

/** Applies a rule of chat completions. DashScope publishes the same rule. */
function asChat(rule: RequestRule, source = rule.source): RequestRule {
  return {
    ...rule,
    source,
    find: (request, target) => rule.find(chatOf(request), target).map(pathInRequest),
  };
}

function pathInRequest(path: string): string {
  return `${path.startsWith('messages') ? 'input' : 'parameters'}.${path}`;
}

const someMessages: RequestRule = {
  id: 'some-messages',
  text: 'Either "prompt" or "messages" must exist and cannot both be none',
  source: errors,
  find: (request) => (messagesOf(request).length ? [] : ['input.messages']),
};

const modelName: RequestRule = {
  id: 'model',
  text: 'Required parameter "model" missing from request.',
  source: errors,
  find: ({ value }) => (value['model'] ? [] : ['model']),
};

const incrementalThinking: RequestRule = {
  id: 'incremental-thinking',
  text: 'The incremental_output parameter must be "true" when enable_thinking is true',
  source: errors,
  find: (request) => {
    const { enable_thinking: isThinking, incremental_output: isIncremental } =
      parametersOf(request);
    return isThinking === true && isIncremental !== true ? ['parameters.incremental_output'] : [];
  },
};

const thinkingBudget: RequestRule = {
  id: 'thinking-budget',
  text: 'The thinking_budget parameter must be a positive integer',
  source: errors,
  find: (request) => {
    const { thinking_budget: budget } = parametersOf(request);
    const isValid = budget === undefined || (Number.isInteger(budget) && Number(budget) > 0);
    return isValid ? [] : ['parameters.thinking_budget'];
  },
};

const toolChoices: RequestRule = {
  id: 'tool-choice',
  text: 'tool_choice is one of the strings that should be ["none", "auto"]',
  source: errors,
  find: (request) => {
    const { tool_choice: choice } = parametersOf(request);
    const isName = choice === undefined || choice === 'auto' || choice === 'none';
    return isName || typeof choice === 'object' ? [] : ['parameters.tool_choice'];
  },
};

const thinkingChoice: RequestRule = {
  id: 'thinking-choice',
  text: 'The tool_choice parameter does not support being set to required or object in thinking mode',
  source: errors,
  find: (request) => {
    const { tool_choice: choice, enable_thinking: isThinking } = parametersOf(request);
    return typeof choice === 'object' && isThinking === true ? ['parameters.tool_choice'] : [];
  },
};

const messageFormat: RequestRule = {
  id: 'tools-format',
  text: 'tools need result_format message',
  source: reference,
  find: (request) => {
    const { result_format: format, tools } = parametersOf(request);
    return tools !== undefined && format !== 'message' ? ['parameters.result_format'] : [];
  },
};

const roles = ['system', 'user', 'assistant', 'tool'];

const messageRoles: RequestRule = {
  id: 'role',
  text: 'Role must be in [user, assistant, system, tool]',
  source: errors,
  find: (request) => pathsOf(messagesOf(request), ({ role }) => !roles.includes(String(role))),
};

const resultIds: RequestRule = {
  id: 'result-id',
  text: 'messages with role "tool" must have a tool_call_id',
  source: errors,
  find: (request) =>
    pathsOf(messagesOf(request), ({ role, tool_call_id: id }) => role === 'tool' && !id),
};

const messageContents: RequestRule = {
  id: 'message-content',
  text: 'The text service takes texts, and the multimodal service lists of parts such as {text}.',
  source: reference,
  find: (request, { name }) =>
    pathsOf(messagesOf(request), ({ content }, message) => {
      if (typeof content === 'string') return name.includes('/multimodal-generation/');
      if (name.includes('/text-generation/')) return true;
      return !Array.isArray(content) || !placesIn(message, 'content').every(isPart);
    }),
};

function isPart({ value }: Place): boolean {
  const keys = Object.keys(value);
  return keys.length === 1 && ['text', 'image', 'audio', 'video'].includes(keys[0] ?? '');
}

const knownFields: RequestRule = {
  id: 'known-fields',
  text: 'A request has only the fields and parameters of the reference.',
  source: reference,
  find: (request) => {
    const parameters = placeIn(request, 'parameters');
    return [
      ...unknownFields(request, new Set(['model', 'input', 'parameters'])),
      ...(parameters ? unknownFields(parameters, dashScopeParameters) : []),
    ];
  },
};

/** Rules of DashScope's own protocol, with the texts of its errors where it has some. */
export const dashScopeRules: readonly RequestRule[] = [
  wellFormedText,
  modelName,
  someMessages,
  messageFormat,
  incrementalThinking,
  thinkingBudget,
  toolChoices,
  thinkingChoice,
  messageRoles,
  resultIds,
  messageContents,
  asChat(calledNames, reference),
  asChat(objectArguments, 'https://github.com/HKUDS/nanobot/issues/1487'),
  asChat(answeredCalls),
  asChat(calledResults, 'https://github.com/philschmid/mcp-openai-gemini-llama-example/pull/5'),
  asChat(toolNames, reference),
  asChat(functionSchemas, 'https://github.com/alibaba/spring-ai-alibaba/issues/4576'),
  knownFields,
];
