import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import { parseJson } from '../../message/json.ts';
import {
  failureMark,
  keepAlive,
  restartMark,
  type Failure,
} from '../../output/object/object-format.ts';
import { ObjectReader } from './object-reader.ts';

/**
 * Reads an object that an endpoint sends while it grows. Yields at most one object for each piece
 * of the network, and `undefined` while the model corrects it. Returns the object if it is
 * complete, or `undefined` if somebody has stopped it. Rejects with the error of the endpoint, or
 * with `MODEL_UNREACHABLE` if the connection was lost.
 */
export async function* objectsIn(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<unknown, unknown> {
  const reader = new ObjectReader();
  const decoder = new TextDecoder();
  const bytes = body.getReader();
  /** The failure so far, after its mark. */
  let failure = '';
  try {
    for (let isOpen = true; isOpen;) {
      const { done, value } = await bytes.read().catch(lostUnlessSilent);
      const piece = failure + decoder.decode(value, { stream: true }).replaceAll(keepAlive, '');
      const [text = '', failureText] = piece.split(failureMark);
      if (failureText !== undefined) failure = failureMark + failureText;
      for (const [index, json] of text.split(restartMark).entries()) {
        if (index) reader.source.reset();
        reader.source.json(json);
      }
      isOpen = !done;
      if (reader.update(done)) yield reader.value;
    }
  } finally {
    bytes.cancel().catch(() => {});
  }
  // A connection can break inside the failure, too.
  const report = parseJson(failure.slice(1)) as Failure | undefined;
  if (report) return throwUnlessStopped(report);
  if (!failure && reader.isComplete) return reader.value;
  throw new AgentError('MODEL_UNREACHABLE', 'The connection to the endpoint was lost.');
}

/** In WebKit, a lost connection looks like the end of the body. */
function lostUnlessSilent(error: unknown): { readonly done: true; readonly value?: undefined } {
  if (AgentError.is(error) && error.code === 'ENDPOINT_TIMEOUT') throw error;
  return { done: true };
}

function throwUnlessStopped({ code, message }: Failure): undefined {
  if (code !== 'ABORTED') throw new AgentError(code as AgentErrorCode, message);
}
