import { responsesFields } from './known-fields.ts';
import {
  pathsOf,
  placeIn,
  placesIn,
  unknownFields,
  type Place,
  type RequestRule,
  type Wire,
} from './request-rule.ts';
import { isFunctionName, isObjectText, wellFormedText } from './text-rules.ts';
import { arrayItems, objectSchemas, schemaProperties, strictProblems } from './tool-schema.ts';

const reference = 'https://platform.openai.com/docs/api-reference/responses/create';

function itemsOf(request: Place, type: string): readonly Place[] {
  return placesIn(request, 'input').filter(({ value }) => value['type'] === type);
}

function functionsOf(request: Place): readonly Place[] {
  return placesIn(request, 'tools').filter(({ value }) => value['type'] === 'function');
}

const hasWrongName = ({ name }: Wire): boolean => !isFunctionName(name);

const toolNames: RequestRule = {
  id: 'tool-name',
  text: 'The name of a tool has 1 to 64 letters, digits, underscores and dashes.',
  source: 'https://github.com/openai/openai-dotnet/issues/441',
  find: (request) =>
    pathsOf([...functionsOf(request), ...itemsOf(request, 'function_call')], hasWrongName),
};

const callIds: RequestRule = {
  id: 'call-id',
  text: 'The id of a call has 1 to 64 characters.',
  source: 'https://github.com/decolua/9router/issues/393',
  find: (request) =>
    pathsOf(
      [...itemsOf(request, 'function_call'), ...itemsOf(request, 'function_call_output')],
      ({ call_id: id }) => typeof id !== 'string' || !id || id.length > 64,
    ),
};

/** How the ids of OpenAI's items begin, by the type of the item. */
const idPrefixes: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  reasoning: 'rs',
};

const itemIds: RequestRule = {
  id: 'item-id',
  text: 'For OpenAI, the id of an item begins with msg, fc or rs, and has only letters, digits, _ and -.',
  source: 'https://github.com/Wei-Shaw/sub2api/issues/3981',
  find: (request, { server }) => {
    if (server !== 'openai') return [];
    return pathsOf(placesIn(request, 'input'), ({ type = 'message', id }) => {
      const prefix = idPrefixes[String(type)];
      if (id === undefined || !prefix) return false;
      return !/^[\w-]+$/.test(String(id)) || !String(id).startsWith(prefix);
    });
  },
};

const objectArguments: RequestRule = {
  id: 'object-arguments',
  text: 'The arguments of a call are the JSON text of an object.',
  source: 'https://github.com/local-inference-lab/vllm/issues/684',
  find: (request) =>
    pathsOf(itemsOf(request, 'function_call'), (call) => !isObjectText(call['arguments'])),
};

const answeredCalls: RequestRule = {
  id: 'answered-calls',
  text: 'One output follows each call.',
  source: 'https://github.com/bytedance/trae-agent/issues/245',
  find: (request) => {
    const ids = itemsOf(request, 'function_call').map(({ value }) => value['call_id']);
    const outputs = itemsOf(request, 'function_call_output').map(({ value }) => value['call_id']);
    return pathsOf(itemsOf(request, 'function_call'), ({ call_id: id }) => {
      const isOnce = ids.filter((other) => other === id).length === 1;
      return !isOnce || outputs.filter((output) => output === id).length !== 1;
    });
  },
};

const calledResults: RequestRule = {
  id: 'called-results',
  text: 'An output follows its call, which may be in a stored response.',
  source: 'https://github.com/microsoft/vscode/issues/320060',
  find: (request) => {
    const { previous_response_id: previous, conversation } = request.value;
    if (previous !== undefined || conversation !== undefined) return [];
    const items = placesIn(request, 'input');
    return items.flatMap(({ path, value }, index) => {
      if (value['type'] !== 'function_call_output') return [];
      const isCalled = items
        .slice(0, index)
        .some((item) => item.value['type'] === 'function_call' && sameCall(item.value, value));
      return isCalled ? [] : [path];
    });
  },
};

const sameCall = (call: Wire, output: Wire): boolean => call['call_id'] === output['call_id'];

const followedReasoning: RequestRule = {
  id: 'followed-reasoning',
  text: 'Another item of the reply follows each reasoning item.',
  source: 'https://github.com/openai/openai-node/issues/1567',
  find: (request) => {
    const items = placesIn(request, 'input');
    return items.flatMap(({ path, value }, index) => {
      if (value['type'] !== 'reasoning') return [];
      const next = items[index + 1]?.value;
      const isOfReply = next !== undefined && !isOfClient(next);
      return isOfReply ? [] : [path];
    });
  },
};

const isOfClient = ({ role, type }: Wire): boolean =>
  (role !== undefined && role !== 'assistant') || type === 'function_call_output';

const reasoningSummary: RequestRule = {
  id: 'reasoning-summary',
  text: 'A reasoning item has a summary, even if it is empty.',
  source: 'https://github.com/newo-ether/Agora/issues/141',
  find: (request) =>
    pathsOf(itemsOf(request, 'reasoning'), ({ summary }) => !Array.isArray(summary)),
};

const roles = ['user', 'assistant', 'system', 'developer'];
const partTypes = ['input_text', 'input_image', 'input_file', 'output_text', 'refusal'];

const messageContents: RequestRule = {
  id: 'message-content',
  text: 'A message has a known role, and its content is a string or a list of known parts.',
  source: reference,
  find: (request) =>
    pathsOf(placesIn(request, 'input'), ({ role, type = 'message', content }, item) => {
      if (type !== 'message') return false;
      if (!roles.includes(String(role))) return true;
      if (typeof content === 'string') return false;
      const parts = placesIn(item, 'content');
      return (
        !parts.length || !parts.every(({ value }) => partTypes.includes(String(value['type'])))
      );
    }),
};

const someInput: RequestRule = {
  id: 'some-input',
  text: 'A request has an input, unless it continues a stored response.',
  source: 'https://github.com/symfony/ai/pull/2303',
  find: ({ value: { input, previous_response_id: previous, prompt, conversation } }) => {
    const isStored = [previous, prompt, conversation].some((field) => field !== undefined);
    const isEmpty = Array.isArray(input) ? !input.length : !input;
    return isEmpty && !isStored ? ['input'] : [];
  },
};

const strictSchemas: RequestRule = {
  id: 'strict-schema',
  text: 'A strict schema requires each property, allows no others, and has only supported keywords.',
  source: 'https://platform.openai.com/docs/guides/structured-outputs',
  find: (request) => {
    const format = placeIn(placeIn(request, 'text') ?? request, 'format');
    // The API makes the schema of a tool strict if the field is missing.
    const strictTools = functionsOf(request).map(({ path, value }) => ({
      path,
      value: { strict: true, ...value },
    }));
    return [
      ...strictTools.flatMap((tool) => strictProblems(tool, 'parameters')),
      ...(format ? strictProblems(format, 'schema') : []),
    ];
  },
};

const knownFields: RequestRule = {
  id: 'known-fields',
  text: 'A server refuses fields that its reference does not name.',
  source: reference,
  find: (request) => unknownFields(request, responsesFields),
};

/** Rules of OpenAI's Responses API. */
export const responsesRules: readonly RequestRule[] = [
  wellFormedText,
  someInput,
  messageContents,
  toolNames,
  callIds,
  itemIds,
  objectArguments,
  answeredCalls,
  calledResults,
  followedReasoning,
  reasoningSummary,
  objectSchemas(functionsOf, 'parameters'),
  schemaProperties(functionsOf, 'parameters'),
  arrayItems(functionsOf, 'parameters'),
  strictSchemas,
  knownFields,
];
