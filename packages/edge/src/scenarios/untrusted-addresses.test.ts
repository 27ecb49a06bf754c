import { expect, test } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { llmProxy } from '../llm/llm-proxy.ts';

const addresses: readonly string[] = [
  'file:///etc/passwd',
  'FILE:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  '\u0001https://example.com/a.png',
  ' https://example.com/a.png',
  'blob:https://example.com/1',
  'ftp://example.com/a.png',
  '//example.com/a.png',
  'https:example.com/a.png',
  'https://ann:secret@example.com/a.png',
  'https://good.example\\@bad.example/a.png',
  'data:text/html,<script>alert(1)</script>',
  'data:image/svg+xml,<svg/>',
];

/** Types that no image, sound or video may have. */
const wrongTypes: readonly string[] = [
  'data:text/html;base64,PHA+',
  'DATA:TEXT/HTML;BASE64,PHA+',
  'data:;base64,PHA+',
];

const file = (url: string) => ({
  id: 'm1',
  role: 'user',
  parts: [
    { type: 'text', text: 'Look' },
    { type: 'file', mediaType: 'image/png', url },
  ],
});
const asked = { role: 'user', content: 'Hi' };
const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
const chatTools = [{ type: 'function', function: { name: 'look' } }];
const responses = (...input: readonly object[]) => ({ model: 'offline', input, tools });
const item = (part: object) => ({ role: 'user', content: [part] });

/** Places of a request in which a client can send an address. */
const doors: Readonly<Record<string, readonly [path: string, body: (url: string) => object]>> = {
  'a post': ['/api/chat', (url) => ({ id: 'a', messages: [file(url)] })],
  'another answer to a post': [
    '/api/chat',
    (url) => ({ id: 'a', trigger: 'regenerate-message', messages: [file(url)] }),
  ],
  'a run': ['/api/run', (url) => ({ sessionId: 'a', input: file(url) })],
  'an image of chat completions': [
    '/v1/chat/completions',
    (url) => ({
      model: 'offline',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    }),
  ],
  'an image in a tool result of chat completions': [
    '/v1/chat/completions',
    (url) => ({
      model: 'offline',
      tools: chatTools,
      messages: [
        asked,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: [{ type: 'image_url', image_url: { url } }] },
      ],
    }),
  ],
  'an image of an earlier answer': [
    '/v1/chat/completions',
    (url) => ({
      model: 'offline',
      messages: [
        asked,
        { role: 'assistant', content: [{ type: 'image_url', image_url: { url } }] },
        asked,
      ],
    }),
  ],
  'an image of responses': [
    '/v1/responses',
    (url) => responses(item({ type: 'input_image', image_url: url })),
  ],
  'an image in a tool result of responses': [
    '/v1/responses',
    (url) =>
      responses(
        asked,
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [{ type: 'input_image', image_url: url }],
        },
      ),
  ],
};

/** Places in which an address of any media type may stand. */
const fileDoors: typeof doors = {
  'the address of a file of responses': [
    '/v1/responses',
    (url) => responses(item({ type: 'input_file', file_url: url })),
  ],
  'the data of a file of responses': [
    '/v1/responses',
    (url) => responses(item({ type: 'input_file', file_data: url })),
  ],
  'an image through the model proxy': [
    '/llm/v1/chat/completions',
    (url) => ({
      model: 'offline',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    }),
  ],
  'an image in an item through the model proxy': [
    '/llm/v1/responses',
    (url) => ({ ...responses(item({ type: 'input_image', image_url: url })) }),
  ],
};

function openAll(): TestEndpoint {
  const upstream = () => ({ apiKey: 'sk-0123456789', fetch: async () => Response.json({}) });
  const replies = Array.from({ length: 100 }, () => 'Hello.');
  return testEndpoint(replies, {}, { llm: llmProxy({ models: ['offline'], upstream }) });
}

const rows = (places: typeof doors, urls: readonly string[]) =>
  Object.keys(places).flatMap((name) => urls.map((url) => [name, url] as const));

test.for([...rows(doors, [...addresses, ...wrongTypes]), ...rows(fileDoors, addresses)])(
  '%s: the address %j is refused',
  async ([name, url]) => {
    const target = openAll();
    const [path, body] = (doors[name] ?? fileDoors[name])!;
    const response = await target.post(path, body(url));
    const { error } = (await response.json()) as { readonly error: Record<string, string> };
    expect([response.status, error['code']]).toEqual([
      400,
      expect.stringMatching(/^INVALID_(MESSAGE|INPUT)$/),
    ]);
    // The text says what is wrong, and does not repeat the address.
    expect(error['message']).toMatch(/must/);
    expect(error['message']).not.toContain('passwd');
    expect(target.model.requests).toEqual([]);
  },
);

test.for(
  rows({ ...doors, ...fileDoors }, [
    'https://example.com/a b.png?x=1#y',
    'HTTP://example.com/a.png',
    'data:image/png;base64,AAAA',
    'DATA:image/png;BASE64,AAAA',
  ]),
)('%s: the address %j passes', async ([name, url]) => {
  const target = openAll();
  const [path, body] = (doors[name] ?? fileDoors[name])!;
  const response = await target.post(path, body(url));
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.not.stringContaining('INVALID'),
  ]);
  await target.settled();
});
