import { isRecord } from '../../packages/core/src/message/json.ts';
import { aiSdkFields } from './known-fields.ts';
import {
  pathsOf,
  placesIn,
  repeatedNames,
  unknownFields,
  type Place,
  type RequestRule,
  type ServerName,
  type Wire,
} from './request-rule.ts';
import { isFunctionName, wellFormedText } from './text-rules.ts';
import { arrayItems, objectSchemas, schemaProperties } from './tool-schema.ts';

const contract =
  'https://github.com/vercel/ai/blob/main/packages/provider/src/language-model/v4/language-model-v4-prompt.ts';
const options =
  'https://github.com/vercel/ai/blob/main/packages/provider/src/language-model/v4/language-model-v4-call-options.ts';

/** Types of the parts of each role. The content of a system message is text. */
const partTypes: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'file'],
  assistant: ['text', 'file', 'custom', 'reasoning', 'reasoning-file', 'tool-call', 'tool-result'],
  tool: ['tool-result', 'tool-approval-response'],
};

function partsOf(request: Place, type: string): readonly Place[] {
  return placesIn(request, 'prompt')
    .flatMap((message) => placesIn(message, 'content'))
    .filter(({ value }) => value['type'] === type);
}

const messageContents: RequestRule = {
  id: 'message-content',
  text: 'A message has a known role, and content of the parts that its role may have.',
  source: contract,
  find: (request) =>
    pathsOf(placesIn(request, 'prompt'), ({ role, content }, message) => {
      if (role === 'system') return typeof content !== 'string';
      const types = partTypes[String(role)];
      const parts = placesIn(message, 'content');
      if (!types || !parts.length) return true;
      return !parts.every(({ value }) => types.includes(String(value['type'])));
    }),
};

const someMessages: RequestRule = {
  id: 'some-messages',
  text: 'The prompt is not empty.',
  source: 'https://platform.openai.com/docs/api-reference/chat/create',
  find: (request) => (placesIn(request, 'prompt').length ? [] : ['prompt']),
};

const toolNames: RequestRule = {
  id: 'tool-name',
  text: 'The name of a function has 1 to 64 letters, digits, underscores and dashes.',
  source: 'https://platform.openai.com/docs/api-reference/chat/create',
  find: (request) => [
    ...pathsOf(functionsOf(request), ({ name }) => !isFunctionName(name)),
    ...pathsOf(ownCalls(request), ({ toolName }) => !isFunctionName(toolName)),
    ...pathsOf(toolResults(request), ({ toolName }) => !isFunctionName(toolName)),
  ],
};

/** Returns the calls that the client ran. The provider knows the names of its own tools. */
function ownCalls(request: Place): readonly Place[] {
  return partsOf(request, 'tool-call').filter(({ value }) => value['providerExecuted'] !== true);
}

function toolResults(request: Place): readonly Place[] {
  return placesIn(request, 'prompt')
    .filter(({ value }) => value['role'] === 'tool')
    .flatMap((message) => placesIn(message, 'content'))
    .filter(({ value }) => value['type'] === 'tool-result');
}

function functionsOf(request: Place): readonly Place[] {
  return placesIn(request, 'tools').filter(({ value }) => value['type'] === 'function');
}

const uniqueNames: RequestRule = {
  id: 'unique-tool-names',
  text: 'The names of the functions differ.',
  source: 'https://github.com/anthropics/claude-code/issues/10687',
  find: (request) => repeatedNames(functionsOf(request)),
};

/** Ids that a provider accepts. */
const idPatterns: Readonly<Record<ServerName, RegExp>> = {
  openai: /^[^]{1,64}$/,
  mistral: /^[a-zA-Z0-9]{9}$/,
  deepseek: /^[^]+$/,
  anthropic: /^[\w-]+$/,
  other: /^[^]+$/,
};

const callIds: RequestRule = {
  id: 'call-id',
  text: 'The id of a tool call fits its provider: for OpenAI at most 64 characters, for its chat 40.',
  source: 'https://github.com/maximhq/bifrost/issues/5097',
  find: (request, { server, name }) => {
    const pattern = name === 'openai.chat' ? /^[^]{1,40}$/ : idPatterns[server];
    const isWrong = ({ toolCallId: id }: Wire): boolean =>
      typeof id !== 'string' || !pattern.test(id);
    return pathsOf([...ownCalls(request), ...toolResults(request)], isWrong);
  },
};

const objectInputs: RequestRule = {
  id: 'object-arguments',
  text: 'The input of a tool call is an object.',
  source: 'https://github.com/anthropics/claude-code/issues/6696',
  find: (request) => pathsOf(ownCalls(request), ({ input }) => !isRecord(input)),
};

const answeredCalls: RequestRule = {
  id: 'answered-calls',
  text: 'A tool message with one result for each tool call follows the calls directly.',
  source: 'https://ai-sdk.dev/docs/troubleshooting/missing-tool-results-error',
  find: (request) => {
    const messages = placesIn(request, 'prompt');
    return messages.flatMap((message, index) => {
      const ids = idsIn(message, 'tool-call');
      const next = messages[index + 1];
      const answers = next && next.value['role'] === 'tool' ? idsIn(next, 'tool-result') : [];
      const isAnswered = ids.every((id) => answers.filter((answer) => answer === id).length === 1);
      return isAnswered ? [] : [message.path];
    });
  },
};

const calledResults: RequestRule = {
  id: 'called-results',
  text: 'A tool result follows the message whose tool call it answers.',
  source: 'https://github.com/miurla/morphic/issues/136',
  find: (request) => {
    const messages = placesIn(request, 'prompt');
    return messages.flatMap((message, index) => {
      if (message.value['role'] !== 'tool') return [];
      const previous = messages[index - 1];
      const calls = previous ? allIdsIn(previous, 'tool-call') : [];
      return idsIn(message, 'tool-result').every((id) => calls.includes(id)) ? [] : [message.path];
    });
  },
};

/** Returns the ids of a message's parts that the provider did not run itself. */
function idsIn(message: Place, type: string): readonly unknown[] {
  return placesIn(message, 'content')
    .filter(({ value }) => value['type'] === type && value['providerExecuted'] !== true)
    .map(({ value }) => value['toolCallId']);
}

function allIdsIn(message: Place, type: string): readonly unknown[] {
  return placesIn(message, 'content')
    .filter(({ value }) => value['type'] === type)
    .map(({ value }) => value['toolCallId']);
}

const knownFields: RequestRule = {
  id: 'known-fields',
  text: 'A call has only the options of LanguageModelV4.',
  source: options,
  find: (request) => unknownFields(request, aiSdkFields),
};

/** Rules of a call of AI SDK's `LanguageModelV3` or `V4`. */
export const aiSdkRules: readonly RequestRule[] = [
  wellFormedText,
  someMessages,
  messageContents,
  toolNames,
  uniqueNames,
  callIds,
  objectInputs,
  answeredCalls,
  calledResults,
  objectSchemas(functionsOf, 'inputSchema'),
  schemaProperties(functionsOf, 'inputSchema'),
  arrayItems(functionsOf, 'inputSchema'),
  knownFields,
];
