import http from 'node:http';
import { words } from '../lib/scenarios.mjs';
import { seenTurns, token } from './plan.mjs';

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
const answers = new Map();

/**
 * Opens one user's conversation with an endpoint. Returns a function that asks a model the next
 * question.
 *
 * That function resolves with times in milliseconds: to the first byte, to the first text, and to
 * the first text minus the model's own time. It throws if the answer is incomplete or belongs to
 * another conversation. The answer begins with the number of the user's messages that the model
 * received.
 */
export function converse({ port, format, user = 'ann', posts = Infinity }) {
  const id = crypto.randomUUID();
  const history = [];
  let asked = 0;
  return async (model) => {
    asked += 1;
    const question = `What is ${asked} times 17? Take your time.`;
    history.push(message('user', question, format));
    const body = { ...formats[format].extra, id, model, messages: history.slice(-posts) };
    const read = await post({
      port,
      path: formats[format].path(model),
      body: JSON.stringify(body),
      format,
      user,
    });
    const { text, metadata } = read;
    const [, shown, took] = /^\[(\d+) ([\d.]+)\]/.exec(text) ?? [];
    const wanted = answerOf(model);
    if (Number(shown) !== Math.min(asked, seenTurns + 1))
      throw new Error(
        `The model received ${shown} questions instead of ${asked}: ${text.slice(0, 200)}`,
      );
    if (!read.ended || text.slice(text.indexOf(']') + 1) !== wanted)
      throw new Error(`The answer is incomplete: ${text.slice(-200)}`);
    history.push(message('assistant', text, format, metadata));
    return {
      firstByte: read.firstByte,
      firstText: read.firstText,
      added: read.firstText - Number(took),
      wall: read.wall,
    };
  };
}

const formats = {
  ui: { path: () => '/api/chat', extra: {}, read: readUiChunk },
  openai: {
    path: () => '/v1/chat/completions',
    extra: { stream: true },
    read: readCompletionChunk,
  },
  /** The model itself, without a Worker. */
  model: {
    path: (model) => `/${model}/v1/chat/completions`,
    extra: { stream: true },
    read: readCompletionChunk,
  },
};

function message(role, text, format, metadata) {
  if (format !== 'ui') return { role, content: text };
  return {
    id: crypto.randomUUID(),
    role,
    parts: [{ type: 'text', text }],
    ...(metadata && { metadata }),
  };
}

function answerOf(model) {
  if (!answers.has(model)) answers.set(model, words(Number.parseInt(model) - 1).join(''));
  return answers.get(model);
}

function post({ port, path, body, format, user }) {
  const begin = performance.now();
  const since = () => performance.now() - begin;
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    authorization: `Bearer ${token}`,
    'x-user': user,
  };
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port, path, method: 'POST', agent, headers },
      (response) => {
        const read = {
          text: '',
          metadata: undefined,
          ended: false,
          firstByte: undefined,
          firstText: undefined,
          wall: undefined,
        };
        let rest = '';
        let bytes = '';
        response.setEncoding('utf8');
        response.on('data', (data) => {
          read.firstByte ??= since();
          if (response.statusCode !== 200) return void (bytes += data);
          const events = (rest + data).split('\n\n');
          rest = events.pop();
          for (const event of events) readEvent(event, read, format);
          if (read.text) read.firstText ??= since();
        });
        response.on('error', reject);
        response.on('end', () => {
          read.wall = since();
          if (response.statusCode !== 200)
            reject(new Error(`${path}: ${response.statusCode} ${bytes}`));
          else resolve(read);
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function readEvent(event, read, format) {
  const line = event.split('\n').find((each) => each.startsWith('data: '));
  if (!line) return;
  if (line === 'data: [DONE]') read.ended = read.finished === true;
  else formats[format].read(JSON.parse(line.slice(6)), read);
}

function readUiChunk(chunk, read) {
  if (chunk.type === 'text-delta') read.text += chunk.delta;
  else if (chunk.type === 'error') throw new Error(chunk.errorText);
  else if (chunk.type === 'finish')
    read.finished = chunk.finishReason === 'stop' || chunk.finishReason === undefined;
  if (chunk.messageMetadata) read.metadata = { ...read.metadata, ...chunk.messageMetadata };
}

function readCompletionChunk(chunk, read) {
  if (chunk.error) throw new Error(JSON.stringify(chunk.error));
  const [choice] = chunk.choices;
  read.text += choice?.delta.content ?? '';
  if (choice?.finish_reason === 'stop') read.finished = true;
}
