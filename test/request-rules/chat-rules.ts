import {
  pathsOf,
  placeIn,
  placesIn,
  repeatedNames,
  unknownFields,
  type Place,
  type RequestRule,
  type ServerName,
  type Wire,
} from './request-rule.ts';
import { openAiFields, otherFields } from './known-fields.ts';
import { isFunctionName, isObjectText, wellFormedText } from './text-rules.ts';
import { arrayItems, objectSchemas, schemaProperties, strictProblems } from './tool-schema.ts';

const reference = 'https://platform.openai.com/docs/api-reference/chat/create';

/** Fields of the messages of each role. */
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'refusal', 'audio', 'function_call'],
  tool: ['role', 'content', 'tool_call_id'],
};

/** Fields of replies that servers other than OpenAI and Mistral take back. */
const replyFields = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
  'prefix',
  'partial',
  'extra_content',
  // GitHub Copilot: https://github.com/earendil-works/pi/pull/1502
  'reasoning_opaque',
  'reasoning_text',
];

const partTypes = ['text', 'image_url', 'input_audio', 'file', 'refusal'];

function functionsOf(request: Place): readonly Place[] {
  return placesIn(request, 'tools').flatMap((tool) => placeIn(tool, 'function') ?? []);
}

function callsOf(request: Place): readonly Place[] {
  return placesIn(request, 'messages').flatMap((message) => placesIn(message, 'tool_calls'));
}

function calledFunctions(request: Place): readonly Place[] {
  return callsOf(request).flatMap((call) => placeIn(call, 'function') ?? []);
}

const hasWrongName = ({ name }: Wire): boolean => !isFunctionName(name);

export const toolNames: RequestRule = {
  id: 'tool-name',
  text: 'The name of a tool has 1 to 64 letters, digits, underscores and dashes.',
  source: reference,
  find: (request) => pathsOf(functionsOf(request), hasWrongName),
};

const uniqueNames: RequestRule = {
  id: 'unique-tool-names',
  text: 'The names of the tools differ.',
  source: 'https://github.com/liliMozi/openhanako/issues/789',
  find: (request) => repeatedNames(functionsOf(request)),
};

export const calledNames: RequestRule = {
  id: 'called-name',
  text: 'The name in a tool call has 1 to 64 letters, digits, underscores and dashes.',
  source: 'https://github.com/mcp-use/mcp-use/issues/90',
  find: (request) => pathsOf(calledFunctions(request), hasWrongName),
};

const callIds: RequestRule = {
  id: 'call-id',
  text: 'The id of a tool call has 1 to 64 characters, for OpenAI 40.',
  source: 'https://github.com/vercel/ai/issues/5171',
  find: (request, { server }) => {
    const limit = server === 'openai' ? 40 : 64;
    return pathsOf(callsOf(request), ({ id }) => {
      // LiteLLM puts signatures into ids: https://github.com/BerriAI/litellm/issues/16895
      const isOwn = server === 'other' && String(id).includes('__thought__');
      return typeof id !== 'string' || !id || (id.length > limit && !isOwn);
    });
  },
};

export const objectArguments: RequestRule = {
  id: 'object-arguments',
  text: 'The arguments of a tool call are the JSON text of an object.',
  source: 'https://github.com/sgl-project/sglang/pull/28035',
  find: (request) =>
    pathsOf(calledFunctions(request), (called) => !isObjectText(called['arguments'])),
};

export const answeredCalls: RequestRule = {
  id: 'answered-calls',
  text: 'One tool message for each tool call follows a message with tool calls directly.',
  source: 'https://github.com/QwenLM/qwen-code/issues/606',
  find: (request) => {
    const messages = placesIn(request, 'messages');
    return messages.flatMap((message, index) => {
      const ids = placesIn(message, 'tool_calls').map(({ value }) => value['id']);
      const answers = toolMessagesAt(messages, index + 1).map(({ value }) => value['tool_call_id']);
      const isAnswered = ids.every((id) => answers.filter((answer) => answer === id).length === 1);
      return isAnswered && new Set(ids).size === ids.length ? [] : [message.path];
    });
  },
};

export const calledResults: RequestRule = {
  id: 'called-results',
  text: 'A tool message follows the message whose tool call it answers.',
  source: 'https://github.com/miurla/morphic/issues/136',
  find: (request) => {
    const messages = placesIn(request, 'messages');
    return messages.flatMap(({ path, value }, index) => {
      if (value['role'] !== 'tool') return [];
      const caller = messages
        .slice(0, index)
        .findLast((message) => message.value['role'] !== 'tool');
      const calls = caller ? placesIn(caller, 'tool_calls') : [];
      return calls.some((call) => call.value['id'] === value['tool_call_id']) ? [] : [path];
    });
  },
};

/** Returns the tool messages that follow each other from an index on. */
function toolMessagesAt(messages: readonly Place[], start: number): readonly Place[] {
  const rest = messages.slice(start);
  const end = rest.findIndex(({ value }) => value['role'] !== 'tool');
  return end < 0 ? rest : rest.slice(0, end);
}

const filledReplies: RequestRule = {
  id: 'filled-replies',
  text: 'A message of the assistant has content or tool calls.',
  source: 'https://github.com/vllm-project/vllm/issues/21089',
  find: (request) =>
    pathsOf(placesIn(request, 'messages'), ({ role, content, tool_calls: calls }, message) => {
      if (role !== 'assistant') return false;
      if (Array.isArray(calls) && !calls.length) return true;
      return !content?.toString() && !placesIn(message, 'tool_calls').length;
    }),
};

// https://github.com/zeroclaw-labs/zeroclaw/pull/5565 (tool messages, DeepSeek)
const filledInput: RequestRule = {
  id: 'filled-input',
  text: 'A message of the user or a tool is not empty. Only OpenAI takes an empty one.',
  source: 'https://github.com/earendil-works/pi/pull/3309',
  find: (request, { server }) => {
    if (server === 'openai') return [];
    return pathsOf(placesIn(request, 'messages'), ({ role, content }, message) => {
      const texts = placesIn(message, 'content').map(({ value: { type, text = type } }) => text);
      const words = typeof content === 'string' ? content : texts.join('');
      return (role === 'user' || role === 'tool') && !words.trim();
    });
  },
};

const messageContents: RequestRule = {
  id: 'message-content',
  text: 'A message has a known role, and its content is a string or a list of known parts.',
  source: reference,
  find: (request, { server }) =>
    pathsOf(placesIn(request, 'messages'), ({ role, content }, message) => {
      if (!Object.hasOwn(messageFields, String(role))) return true;
      if (role === 'assistant' && (content === null || content === undefined)) return false;
      if (typeof content === 'string') return false;
      return !hasKnownParts(message, server);
    }),
};

function hasKnownParts(message: Place, server: ServerName): boolean {
  const parts = placesIn(message, 'content');
  const types = server === 'openai' ? partTypes : [...partTypes, 'video_url', 'thinking'];
  return parts.length > 0 && parts.every(({ value }) => types.includes(String(value['type'])));
}

// The published pattern of 2024 has only ASCII letters. OpenAI has relaxed it since.
const speakerNames: RequestRule = {
  id: 'speaker-name',
  text: 'The name of a speaker has no spaces and none of the characters <, |, \\, / and >.',
  source: 'https://github.com/FlowiseAI/Flowise/issues/2948',
  find: (request) =>
    pathsOf(
      placesIn(request, 'messages'),
      ({ name }) => name !== undefined && !/^[^\s<|\\/>]{1,64}$/u.test(String(name)),
    ),
};

const someMessages: RequestRule = {
  id: 'some-messages',
  text: 'The list of messages is not empty.',
  source: reference,
  find: (request) => (placesIn(request, 'messages').length ? [] : ['messages']),
};

const knownFields: RequestRule = {
  id: 'known-fields',
  text: 'A server refuses fields that its reference does not name.',
  source: 'https://github.com/TutteInstitute/toponymy/pull/148',
  find: (request, { server }) =>
    unknownFields(request, server === 'openai' ? openAiFields : otherFields),
};

const knownMessageFields: RequestRule = {
  id: 'known-message-fields',
  text: 'A message has only the fields of its role.',
  source: 'https://github.com/charmbracelet/crush/issues/1590',
  find: (request, { server }) => {
    const isStrict = server === 'openai' || server === 'mistral';
    return placesIn(request, 'messages').flatMap((message) => {
      const fields = messageFields[String(message.value['role'])];
      if (!fields) return [];
      const extra = isStrict ? [] : [...replyFields, 'name'];
      return unknownFields(message, new Set([...fields, ...extra]));
    });
  },
};

const knownCallFields: RequestRule = {
  id: 'known-call-fields',
  text: 'For OpenAI and Mistral, a tool call has an id, a type, a name and arguments, and no more.',
  source: 'https://github.com/zeroclaw-labs/zeroclaw/issues/2693',
  find: (request, { server }) => {
    if (server !== 'openai' && server !== 'mistral') return [];
    return [
      ...callsOf(request).flatMap((call) => unknownFields(call, callFields)),
      ...calledFunctions(request).flatMap((called) => unknownFields(called, calledFields)),
    ];
  },
};

const callFields: ReadonlySet<string> = new Set(['id', 'type', 'function']);
const calledFields: ReadonlySet<string> = new Set(['name', 'arguments']);

export const functionSchemas: RequestRule = objectSchemas(functionsOf, 'parameters');

const strictSchemas: RequestRule = {
  id: 'strict-schema',
  text: 'A strict schema requires each property, allows no others, and has only supported keywords.',
  source: 'https://platform.openai.com/docs/guides/structured-outputs',
  find: (request) => {
    const format = placeIn(placeIn(request, 'response_format') ?? request, 'json_schema');
    return [
      ...functionsOf(request).flatMap((tool) => strictProblems(tool, 'parameters')),
      ...(format ? strictProblems(format, 'schema') : []),
    ];
  },
};

const formatNames: RequestRule = {
  id: 'format-name',
  text: 'The name of a response format has 1 to 64 letters, digits, underscores and dashes.',
  source: reference,
  find: (request) => {
    const format = placeIn(placeIn(request, 'response_format') ?? request, 'json_schema');
    return format && hasWrongName(format.value) ? [format.path] : [];
  },
};

const stopCount: RequestRule = {
  id: 'stop-count',
  text: 'There are at most 4 stop sequences.',
  source: reference,
  find: ({ value: { stop } }, { server }) =>
    server === 'openai' && Array.isArray(stop) && stop.length > 4 ? ['stop'] : [],
};

const sampling: RequestRule = {
  id: 'sampling',
  text: 'The temperature is between 0 and 2, and top_p between 0 and 1.',
  source: reference,
  find: ({ value }) => [
    ...(isOutside(value['temperature'], 2) ? ['temperature'] : []),
    ...(isOutside(value['top_p'], 1) ? ['top_p'] : []),
  ],
};

function isOutside(value: unknown, maximum: number): boolean {
  return typeof value === 'number' && !(value >= 0 && value <= maximum);
}

/** Models of OpenAI that always reason. Later ones may be told not to. */
const reasoningModel = /^(o\d|gpt-5(-mini|-nano)?(-\d|$))/;

const fixedTemperature: RequestRule = {
  id: 'fixed-temperature',
  text: 'A reasoning model of OpenAI has no temperature but 1.',
  source: 'https://github.com/QwenLM/qwen-code/issues/921',
  find: ({ value: { model, temperature = 1 } }, { server }) => {
    const isRefused = server === 'openai' && temperature !== null && temperature !== 1;
    return isRefused && reasoningModel.test(String(model)) ? ['temperature'] : [];
  },
};

const completionTokens: RequestRule = {
  id: 'completion-tokens',
  text: 'A reasoning model of OpenAI takes max_completion_tokens, not max_tokens.',
  source: 'https://github.com/teilomillet/gollm/issues/33',
  find: ({ value: { model, max_tokens: tokens } }, { server }) => {
    const isRefused = server === 'openai' && tokens !== undefined;
    return isRefused && reasoningModel.test(String(model)) ? ['max_tokens'] : [];
  },
};

const choiceWithTools: RequestRule = {
  id: 'choice-with-tools',
  text: 'A request with tool_choice has tools, and a list of tools is not empty.',
  source: 'https://github.com/writer/writer-framework/pull/1013',
  find: (request) => {
    const { tools, tool_choice: choice } = request.value;
    if (Array.isArray(tools)) return tools.length ? [] : ['tools'];
    return choice === undefined ? [] : ['tool_choice'];
  },
};

const parallelWithTools: RequestRule = {
  id: 'parallel-with-tools',
  text: 'A request with parallel_tool_calls has tools.',
  source: 'https://github.com/camel-ai/camel/pull/3706',
  find: ({ value: { tools, parallel_tool_calls: parallel } }) =>
    tools === undefined && parallel !== undefined ? ['parallel_tool_calls'] : [],
};

// https://github.com/mistralai/mistral-vibe/issues/255 (two messages of the user)
const mistralOrder: RequestRule = {
  id: 'mistral-order',
  text: 'Mistral wants a reply before the next message of the user, and no reply at the end.',
  source: 'https://github.com/avante-corp/avante.nvim/pull/2695',
  find: (request, { server }) => {
    if (server !== 'mistral') return [];
    const messages = placesIn(request, 'messages');
    return messages.flatMap(({ path, value: { role, prefix } }, index) => {
      const next = messages[index + 1]?.value['role'];
      const isLastReply = role === 'assistant' && next === undefined && prefix !== true;
      return isLastReply || (role !== 'assistant' && role !== 'system' && next === 'user')
        ? [path]
        : [];
    });
  },
};

const mistralSeed: RequestRule = {
  id: 'mistral-seed',
  text: 'Mistral calls the seed random_seed, and refuses unknown fields.',
  source: 'https://github.com/langchain-ai/langchain-azure/issues/82',
  find: ({ value: { seed } }, { server }) =>
    server === 'mistral' && seed !== undefined ? ['seed'] : [],
};

const leadingSystem: RequestRule = {
  id: 'leading-system',
  text: 'Qwen takes a system message only as the first message.',
  source: 'https://github.com/vllm-project/vllm/issues/41114',
  find: (request) => {
    if (!/qwen3\.\d/i.test(String(request.value['model']))) return [];
    return pathsOf(placesIn(request, 'messages').slice(1), ({ role }) => role === 'system');
  },
};

const mistralIds: RequestRule = {
  id: 'mistral-call-id',
  text: 'Mistral wants ids of nine letters and digits.',
  source: 'https://github.com/nearai/ironclaw/issues/1241',
  find: (request, { server }) =>
    server === 'mistral'
      ? pathsOf(callsOf(request), ({ id }) => !/^[a-zA-Z0-9]{9}$/.test(String(id)))
      : [],
};

const anthropicIds: RequestRule = {
  id: 'anthropic-call-id',
  text: 'Anthropic wants ids of letters, digits, underscores and dashes.',
  source: 'https://github.com/maximhq/bifrost/issues/5097',
  find: (request, { server }) =>
    server === 'anthropic'
      ? pathsOf(callsOf(request), ({ id }) => !/^[\w-]+$/.test(String(id)))
      : [],
};

const deepSeekReasoning: RequestRule = {
  id: 'deepseek-reasoning',
  text: 'In thinking mode, DeepSeek wants reasoning_content beside tool calls.',
  source: 'https://github.com/gptme/gptme/pull/918',
  find: (request, { server }) => {
    const isThinking =
      placeIn(request, 'thinking')?.value['type'] === 'enabled' ||
      /reasoner/.test(String(request.value['model']));
    if (server !== 'deepseek' || !isThinking) return [];
    return pathsOf(
      placesIn(request, 'messages'),
      ({ tool_calls: calls, reasoning_content: reasoning }) =>
        calls !== undefined && typeof reasoning !== 'string',
    );
  },
};

/** Rules of chat completions. */
export const chatRules: readonly RequestRule[] = [
  wellFormedText,
  someMessages,
  messageContents,
  filledReplies,
  filledInput,
  speakerNames,
  calledNames,
  callIds,
  objectArguments,
  answeredCalls,
  calledResults,
  toolNames,
  uniqueNames,
  functionSchemas,
  arrayItems(functionsOf, 'parameters'),
  schemaProperties(functionsOf, 'parameters'),
  strictSchemas,
  formatNames,
  choiceWithTools,
  parallelWithTools,
  stopCount,
  sampling,
  fixedTemperature,
  completionTokens,
  knownFields,
  knownMessageFields,
  knownCallFields,
  mistralIds,
  mistralOrder,
  mistralSeed,
  leadingSystem,
  anthropicIds,
  deepSeekReasoning,
];
