import { expect, test } from 'vitest';
import type { Msg } from '../../message/msg.ts';
import { z } from 'zod';
import type { JsonObject } from '../../message/json.ts';
import { jsonSchema } from '../../schema/json-schema.ts';
import { toSchema, type SchemaLike } from '../../schema/schema.ts';
import { tool } from '../../tool/tool.ts';
import { toAiSdkCall } from '../ai-sdk/ai-sdk-call.ts';
import type { ModelRequest, ToolSchema } from '../chat-model.ts';
import { dashScopeFormatter } from '../dashscope/dashscope-formatter.ts';
import { openAiFormatter } from '../openai/openai-formatter.ts';
import { responsesFormatter } from '../responses/responses-formatter.ts';
import { isStrict } from './strict-schema.ts';
import { parametersIssue, replySchema, toolParameters } from './wire-schema.ts';

const circle = z.object({ kind: z.literal('circle'), radius: z.number() });
const square = z.object({
  kind: z.literal('square'),
  side: z.number(),
  color: z.string().optional(),
});
const shape = z.discriminatedUnion('kind', [circle, square]);

interface Tree {
  readonly name: string;
  readonly children?: readonly Tree[] | undefined;
}
const tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ name: z.string(), children: z.array(tree).optional() }),
);
const chain: z.ZodType = z.lazy(() =>
  z.union([z.object({ end: z.literal(true) }), z.object({ head: z.string(), tail: chain })]),
);

const fitted = (schema: SchemaLike): JsonObject => toolParameters(toSchema(schema).jsonSchema);

/** A schema, and values that it accepts. */
const cases: readonly (readonly [name: string, schema: SchemaLike, values: readonly unknown[]])[] =
  [
    [
      'a discriminated union',
      shape,
      [
        { kind: 'circle', radius: 1 },
        { kind: 'square', side: 2 },
      ],
    ],
    ['a union', z.union([circle, z.object({ kind: z.number() })]), [{ kind: 3 }]],
    [
      'an intersection',
      z.object({ a: z.string() }).and(z.object({ b: z.number() })),
      [{ a: '', b: 1 }],
    ],
    ['a nullable object', circle.nullable(), [{ kind: 'circle', radius: 1 }]],
    ['any value', z.any(), [{}, { a: 1 }]],
    ['a record', z.record(z.string(), z.number()), [{}, { a: 1 }]],
    ['a reference to another document', { $ref: 'https://example.com/a.json' }, [{ a: 1 }]],
    ['a recursive object', tree, [{ name: 'a', children: [{ name: 'b' }] }]],
    ['a recursive union', chain, [{ end: true }, { head: 'a', tail: { end: true } }]],
    ['no keyword but the type', { type: 'object' }, [{}, { a: 1 }]],
    [
      'a reference to a definition',
      {
        $ref: '#/$defs/Node',
        $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } },
      },
      [{ next: { next: {} } }],
    ],
    [
      'references to the root',
      {
        anyOf: [
          { type: 'object', properties: { left: { $ref: '#' } }, required: ['left'] },
          { type: 'object', properties: { size: { type: 'number' }, up: { $ref: '#' } } },
        ],
      },
      [{ left: { size: 1 } }, { size: 2, up: { left: {} } }],
    ],
    [
      'fields of which one must be there',
      {
        type: 'object',
        properties: { id: { type: 'string' }, name: { type: 'string' } },
        additionalProperties: false,
        anyOf: [{ required: ['id'] }, { required: ['name'] }],
      },
      [{ id: 'a' }, { name: 'b' }],
    ],
    [
      'keywords of the root that a server refuses',
      { type: 'object', properties: { a: {} }, not: { required: ['b'] }, enum: [{ a: 1 }] },
      [{ a: 1 }],
    ],
    [
      'properties named as keywords',
      {
        type: 'object',
        properties: {
          properties: { type: 'array' },
          anyOf: { type: 'object', default: { type: 'array' } },
          $ref: { type: 'string' },
        },
      },
      [{ properties: [1], anyOf: {}, $ref: '' }],
    ],
    [
      'the list of an older draft',
      { type: 'object', properties: { at: { type: 'array', items: [{ type: 'number' }] } } },
      [{ at: [1, 'a'] }],
    ],
  ];

test.each(cases)(
  '%s becomes an object at the root that accepts the same values',
  async (_name, schema, values) => {
    const before = JSON.stringify(toSchema(schema).jsonSchema);
    const sent = fitted(schema);
    expect(sent).toMatchObject({ type: 'object', properties: expect.any(Object) });
    for (const key of ['$schema', '$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum'])
      expect(sent).not.toHaveProperty([key]);
    // `jsonSchema` also throws for a reference to nothing.
    const checked = toSchema(jsonSchema(sent));
    for (const value of values) expect(await checked.validate(value)).toEqual({ ok: true, value });
    expect(JSON.stringify(toSchema(schema).jsonSchema)).toBe(before);
  },
);

test('a union at the root keeps the fields of all forms, and its description says which belong together', () => {
  expect(fitted(shape.describe('A shape.'))).toEqual({
    type: 'object',
    description:
      'A shape.\nThe arguments have one of these forms: {kind: "circle", radius} or {kind: "square", side, color?}',
    properties: {
      kind: { type: 'string', enum: ['circle', 'square'] },
      radius: { type: 'number' },
      side: { type: 'number' },
      color: { type: 'string' },
    },
    required: ['kind'],
  });
  const other = z.object({ kind: z.number() });
  expect(fitted(z.union([circle, other, other]))['properties']).toMatchObject({
    kind: { anyOf: [{ type: 'string', const: 'circle' }, { type: 'number' }] },
  });
});

test('arrays have `items`, and values in `default` stay', () => {
  const sent = fitted({
    type: 'object',
    properties: {
      any: true,
      list: { type: ['array', 'null'], default: { type: 'array' } },
      pair: { type: 'array', items: [{ type: 'array' }, true], additionalItems: false },
      map: { type: 'object', additionalProperties: true },
    },
  });
  expect(sent['properties']).toEqual({
    any: {},
    list: { type: ['array', 'null'], items: {}, default: { type: 'array' } },
    pair: { type: 'array', prefixItems: [{ type: 'array', items: {} }, {}], items: false },
    map: { type: 'object', additionalProperties: true },
  });
});

test('details that servers refuse are replaced or left out', () => {
  const sent = fitted({
    type: 'object',
    properties: {
      email: { type: 'string', format: 'email', pattern: '^(?!\\.)(?!.*\\.\\.)' },
      part: { type: 'string', pattern: '^a' },
      long: { type: 'string', minLength: 1, maxLength: 2000 },
      many: { type: 'array', items: {}, maxItems: 5000 },
      share: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1 },
      open: { type: 'number', maximum: 1, exclusiveMaximum: false },
      other: { not: { const: 1 } },
      one: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      closed: { type: 'object', additionalProperties: false },
    },
  });
  expect(sent['properties']).toEqual({
    email: { type: 'string', format: 'email' },
    part: { type: 'string' },
    long: { type: 'string', minLength: 1 },
    many: { type: 'array', items: {} },
    share: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    open: { type: 'number', maximum: 1 },
    other: {},
    one: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    closed: { type: 'object', additionalProperties: false },
  });
});

test.each([
  ['^[a-z]+$', '^[a-z]+$'],
  ['^\\d{4}-\\w+$', '^[0-9]{4}-[A-Za-z0-9_]+$'],
  ['^[\\d.]+$', undefined],
  ['^.*\\S.*$', undefined],
  ['^(?<!a)b$', undefined],
  ['^(?:a|b)$', undefined],
  ['^a\\$', undefined],
  ['^a\\\\d$', undefined],
  ['^(a)\\1$', undefined],
  ['a', undefined],
])('the pattern %s is sent as %s', (pattern, plainPattern) => {
  const sent = fitted({ type: 'object', properties: { a: { type: 'string', pattern } } });
  const property = plainPattern === undefined ? {} : { pattern: plainPattern };
  expect(sent['properties']).toEqual({ a: { type: 'string', ...property } });
});

test('a `required` that is not a list and `properties` that are not an object are left out', () => {
  expect(fitted({ type: 'object', properties: null, required: null })).toEqual({
    type: 'object',
    properties: {},
  });
  const a = { type: 'string', required: true };
  expect(fitted({ type: 'object', properties: { a } })['properties']).toEqual({
    a: { type: 'string' },
  });
  const union = [
    { type: 'object', properties: { a }, required: null },
    { type: 'object', properties: null, required: true },
  ];
  expect(fitted({ anyOf: union })['properties']).toEqual({ a: { type: 'string' } });
});

test('definitions that refer to each other in all ways are read in bounded time', () => {
  const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
  const all = names.map((name) => ({ $ref: `#/$defs/${name}` }));
  const $defs = Object.fromEntries(names.map((name) => [name, { anyOf: all, allOf: all }]));
  expect(parametersIssue({ anyOf: all, $defs })).toContain('must be an object');
  const own = { type: 'object', properties: { a: {} } };
  const nested = { $defs: { ...$defs, own }, anyOf: [...all, { $ref: '#/$defs/own' }] };
  expect(toolParameters(nested)).toMatchObject({ type: 'object', properties: { a: {} } });
  const [a, b] = [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }];
  expect(parametersIssue({ ...a, $defs: { a: b, b: a } })).toContain('must be an object');
  expect(toolParameters({ ...a, $defs: { a: b, b: own } })).toMatchObject(own);
  const manyForms = { allOf: names.map((name) => ({ anyOf: [{ required: [name] }, {}] })) };
  expect(toolParameters(manyForms)).toMatchObject({ type: 'object', properties: {} });
});

test.each<readonly [string, SchemaLike]>([
  ['string', z.string()],
  ['array', z.array(circle)],
  ['string or number', z.union([z.string(), z.number()])],
  ['a union without an object', z.union([z.string().min(1), z.array(z.string())])],
  ['another value', { enum: ['a', 'b'] }],
  ['another value', { const: 1 }],
  ['string or null', { type: ['string', 'null'] }],
  ['string', { $ref: '#/$defs/Name', $defs: { Name: { type: 'string' } } }],
])('tool() refuses a schema that accepts no object, but %s', (found, input) => {
  expect(() => tool({ name: 'f', description: '', input })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: `The input of the tool "f" must be an object, because models give arguments by name, but its schema says ${found}.`,
    }),
  );
});

test('a tool with a union checks arguments against the union', async () => {
  const draw = tool({ name: 'draw', description: '', input: shape });
  expect(await draw.input.validate({ kind: 'circle', side: 1 })).toMatchObject({ ok: false });
  expect(await draw.input.validate({ kind: 'circle', radius: 1 })).toMatchObject({ ok: true });
});

const features = { tools: true, media: [] } as const;
const responsesFormat = {
  model: 'm',
  features,
  media: [],
  origin: 'o',
  reasoning: undefined,
  builtInTools: [],
  encryptedReasoning: false,
  previousResponse: false,
} as const;

/** Returns what each wire sends for a request: tools, and the format of the reply. */
function sentBy(request: Partial<ModelRequest>): Readonly<Record<string, Wire>> {
  const whole: ModelRequest = { messages: [], tools: [], ...request };
  const chat = JSON.parse(
    openAiFormatter({ model: 'm', features, maxTokensField: 'max_tokens' }).format(whole),
  );
  const responses = JSON.parse(responsesFormatter(responsesFormat).format(whole).body);
  const { parameters } = JSON.parse(
    dashScopeFormatter({
      model: 'm',
      features,
      endpoint: undefined,
      enableThinking: undefined,
      thinkingBudget: undefined,
    }).format(whole),
  );
  const target = {
    version: 'v4',
    provider: 'openai.responses',
    modelId: 'm',
    media: [],
    supportedUrls: {},
    fitMessage: (message: Msg) => message,
  } as const;
  const aiSdk = JSON.parse(JSON.stringify(toAiSdkCall(whole, target)));
  const functions = (tools: readonly { readonly function: Fields }[] = []): readonly Fields[] =>
    tools.map((each) => each.function);
  return {
    chat: { tools: functions(chat.tools), reply: chat.response_format?.json_schema },
    responses: { tools: responses.tools, reply: responses.text?.format },
    dashscope: {
      tools: functions(parameters.tools),
      reply: parameters.response_format?.json_schema,
    },
    aiSdk: {
      tools: aiSdk.tools?.map((each: JsonObject) => ({ ...each, parameters: each['inputSchema'] })),
      reply: aiSdk.responseFormat && { ...aiSdk.responseFormat, strict: aiSdk.providerOptions },
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

interface Wire {
  readonly tools: readonly Fields[];
  readonly reply: Fields;
}

const toolOf = (parameters: JsonObject, strict?: boolean): ToolSchema => ({
  name: 'f',
  description: '',
  parameters,
  strict,
});

test('each wire sends the fitted schema of a tool', () => {
  const { jsonSchema: parameters } = toSchema(shape);
  const request = { tools: [toolOf(parameters), toolOf({ type: 'object' })] };
  for (const { tools } of Object.values(sentBy(request)))
    expect(tools.map((each) => each['parameters'])).toEqual([
      toolParameters(parameters),
      { type: 'object', properties: {} },
    ]);
});

const closed = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

test('a tool is strict if strict mode accepts its schema', () => {
  const good = toolOf(closed({ a: { type: 'string' } }), true);
  const bad = toolOf(closed({ a: { type: 'string', format: 'uri' } }), true);
  const plain = toolOf(closed({}));
  const strictOf = (wire: string): unknown =>
    sentBy({ tools: [good, bad, plain] })[wire]!.tools.map(({ strict }) => strict);
  expect(strictOf('chat')).toEqual([true, undefined, undefined]);
  // A missing field means strict there.
  expect(strictOf('responses')).toEqual([true, false, false]);
  expect(strictOf('dashscope')).toEqual([undefined, undefined, undefined]);
  expect(strictOf('aiSdk')).toEqual([true, undefined, undefined]);
});

test('the objects of a strict tool are closed, unless its schema allows other fields', () => {
  const { jsonSchema: open } = toSchema(z.object({ a: z.object({ b: z.string() }) }));
  const chosen = closed({ a: { type: 'object', properties: {}, additionalProperties: true } });
  const { tools } = sentBy({ tools: [toolOf(open, true), toolOf(open), toolOf(chosen, true)] })[
    'chat'
  ]!;
  expect(tools[0]).toMatchObject({
    strict: true,
    parameters: closed({ a: closed({ b: { type: 'string' } }) }),
  });
  // A tool without a description is described by its name.
  expect(tools[1]).toEqual({ name: 'f', description: 'f', parameters: open });
  expect(tools[2]).toEqual({ name: 'f', description: 'f', parameters: chosen });
});

test('a response schema is strict if strict mode accepts it', () => {
  const strictOf = (wire: string, property: JsonObject): unknown =>
    sentBy({ responseSchema: closed({ a: property }) })[wire]!.reply['strict'];
  for (const wire of ['chat', 'responses', 'dashscope']) {
    expect(strictOf(wire, { type: 'string' })).toBe(true);
    expect(strictOf(wire, { type: 'string', format: 'uri' })).toBe(false);
  }
  expect(strictOf('aiSdk', { type: 'string' })).toBeUndefined();
  expect(strictOf('aiSdk', { not: {} })).toEqual({ openai: { strictJsonSchema: false } });
});

test.each<readonly [string, JsonObject]>([
  ['a union', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  ['a format', { type: 'string', format: 'date-time' }],
  ['limits', { type: 'integer', minimum: 1, exclusiveMaximum: 5, multipleOf: 2 }],
  ['a list', { type: 'array', items: closed({ b: { type: 'number' } }), maxItems: 3 }],
  ['values', { type: 'string', enum: ['a', 'b'], description: 'A or b.', title: 'Letter' }],
  ['a property named as a keyword', closed({ oneOf: { type: 'string' }, type: { type: 'null' } })],
  ['a reference', { $ref: '#' }],
])('strict mode accepts %s', (_name, property) => {
  expect(isStrict(closed({ a: property }))).toBe(true);
});

test.each<readonly [string, JsonObject]>([
  ['oneOf', { oneOf: [{ type: 'string' }] }],
  ['allOf', { allOf: [{ type: 'string' }] }],
  ['not', { type: 'string', not: { const: '' } }],
  ['if', { type: 'string', if: {} }],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'string' } }],
  ['patternProperties', { ...closed({}), patternProperties: {} }],
  ['a length', { type: 'string', minLength: 1 }],
  ['another format', { type: 'string', format: 'uri' }],
  ['a default', { type: 'string', default: '' }],
  ['any value', {}],
  ['a list of anything', { type: 'array', items: {} }],
  ['an open object', { type: 'object', properties: {} }],
  ['an object that may be null and is open', { type: ['object', 'null'], properties: {} }],
  ['a reference with a description', { $ref: '#', description: 'The same.' }],
])('strict mode refuses %s', (_name, property) => {
  expect(isStrict(closed({ a: property }))).toBe(false);
});

test('strict mode refuses a union and an array at the root', () => {
  expect(isStrict({ ...closed({}), anyOf: [closed({})] })).toBe(false);
  expect(isStrict(toSchema(z.array(z.string())).jsonSchema)).toBe(false);
});

test('a nested discriminated union stays strict, because it is sent as `anyOf`', () => {
  const figure = z.strictObject({
    shape: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('a') }),
      z.strictObject({ kind: z.enum(['b', 'c']), size: z.number() }),
    ]),
  });
  const { jsonSchema: schema } = toSchema(figure);
  expect(JSON.stringify(schema)).toContain('oneOf');
  expect(isStrict(replySchema(schema))).toBe(true);
  expect(isStrict(toolParameters(schema))).toBe(true);
});

test('a response schema with a reference at the root is that of the definition', () => {
  const node = closed({ next: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } });
  const schema = replySchema({ $ref: '#/$defs/Node', $defs: { Node: node } });
  expect(schema).toEqual({ ...node, $defs: { Node: node } });
  expect(isStrict(schema)).toBe(true);
});
