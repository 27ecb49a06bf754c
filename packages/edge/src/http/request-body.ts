import { AgentError } from '@isoloop/core';
import { fieldError } from '@isoloop/core/host';

/** Body of a request, an object whose fields are not checked yet. */
export type RequestBody = Readonly<Record<string, unknown>>;

/**
 * Reads the JSON object that a client posted. Rejects with `PAYLOAD_TOO_LARGE` as soon as the body
 * exceeds `maxBytes`. Rejects with `INVALID_INPUT` if the body is not a JSON object, or if the
 * content type is not `application/json`. The content type matters because pages of other origins
 * can post other content types without a preflight request. With `mayBeEmpty`, an empty body is
 * read as `{}`.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Promise<RequestBody> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get('content-type') ?? '')) {
    throw new AgentError(
      'INVALID_INPUT',
      'The body must be JSON, with `content-type: application/json`.',
    );
  }
  const text = await readText(request, maxBytes);
  if (!text) {
    if (mayBeEmpty) return {};
    throw readError();
  }
  const body = parse(text);
  // `JSON.parse` accepts any depth, but recursive functions that read the value do not.
  if (isDeeper(body, maxDepth))
    throw new AgentError('INVALID_INPUT', `The body is nested deeper than ${maxDepth} levels.`);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new AgentError('INVALID_INPUT', 'The body must be a JSON object.');
  return body as RequestBody;
}

const maxDepth = 64;

/** Throws `INVALID_INPUT` for a name of a function or a schema that models do not accept. */
export function checkName(name: unknown, param: string): asserts name is string {
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    throw fieldError(param, 'must be 1 to 64 letters, digits, "_" and "-"');
}

/** Throws `INVALID_INPUT` for a field with another name. `path`: path of the object, with a dot. */
export function checkNames(fields: RequestBody, names: readonly string[], path = ''): void {
  const unknownName = Object.keys(fields).find(
    (name) => fields[name] != null && !names.includes(name),
  );
  if (unknownName !== undefined)
    throw fieldError(path + unknownName, `is not supported. Use: ${names.join(', ')}`);
}

/**
 * Returns the model name. Throws `INVALID_INPUT` if it is not a string, and `NOT_FOUND` if it is
 * not in the list. `owner`: function whose option `models` is this list, for the error message.
 */
export function checkModel(
  model: unknown,
  models: readonly string[],
  owner = 'createAgentHandler',
): string {
  if (typeof model === 'string' && models.includes(model)) return model;
  const listedModels = models.map((name) => JSON.stringify(name)).join(', ');
  if (typeof model !== 'string') throw fieldError('model', `must be one of ${listedModels}`);
  const name = JSON.stringify(model.slice(0, 100));
  throw new AgentError(
    'NOT_FOUND',
    `This endpoint does not list the model ${name}. Ask for one of ${listedModels}, or add it to the option models of ${owner}.`,
    { details: { param: 'model' } },
  );
}

/**
 * Reads a body as UTF-8. Rejects with `PAYLOAD_TOO_LARGE` as soon as it exceeds `maxBytes`. Rejects
 * with `INVALID_INPUT` if it cannot be read, or if somebody else has read it.
 */
export async function readText(request: Request | Response, maxBytes: number): Promise<string> {
  // Creates the error only when it is needed, because an error captures the stack.
  const sizeError = (): AgentError =>
    new AgentError('PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`);
  const { headers } = request;
  const length = Number(headers.get('content-length') ?? Number.NaN);
  if (length > maxBytes) {
    void request.body?.cancel().catch(() => {});
    throw sizeError();
  }
  // With these headers, the body can be longer than its `content-length`.
  const mayBeLonger = headers.has('transfer-encoding') || headers.has('content-encoding');
  const decode = utf8Decoder();
  try {
    // An HTTP server ends the body after as many bytes as the header says. One read is faster than
    // one for each chunk.
    if (length <= maxBytes && !mayBeLonger) {
      const bytes = await request.arrayBuffer();
      if (bytes.byteLength > maxBytes) throw sizeError();
      // In Node, a body that other code has read looks empty.
      if (length > 0 && !bytes.byteLength) throw readError();
      return decode(bytes);
    }
    let text = '';
    let size = 0;
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw sizeError();
      text += decode(chunk, { stream: true });
    }
    return text + decode();
  } catch (cause) {
    throw AgentError.is(cause) ? cause : readError(cause);
  }
}

/** Returns a function that decodes UTF-8. It throws `INVALID_INPUT` for other bytes. */
function utf8Decoder(): TextDecoder['decode'] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  return (...args) => {
    try {
      return decoder.decode(...args);
    } catch (cause) {
      throw new AgentError('INVALID_INPUT', 'The body could not be read as UTF-8.', { cause });
    }
  };
}

/** Creates the error for a body of which nothing is left to read. */
function readError(cause?: unknown): AgentError {
  return new AgentError(
    'INVALID_INPUT',
    'The body could not be read. If other code reads it, such as `express.json()`, mount the endpoint before that code.',
    { cause },
  );
}

/**
 * Returns whether lists and objects in a JSON value nest deeper than `max`. Reads no deeper than
 * that, so a deep value cannot overflow the stack.
 */
function isDeeper(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max === 0) return true;
  const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return children.some((child) => isDeeper(child, max - 1));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AgentError('INVALID_INPUT', 'The body is not valid JSON.', { cause });
  }
}
