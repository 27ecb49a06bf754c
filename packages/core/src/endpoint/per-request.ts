import { AgentError, errorText, type AgentErrorCode } from '../error/agent-error.ts';

/** Value for a request, or a function that returns it at once or later. Called for each request. */
export type PerRequest<T> = T | (() => T | Promise<T>);

/** Headers of a request, such as `authorization`. */
export type RequestHeaders = Readonly<Record<string, string>> | Headers;

/** Returns the value of an option for one request. Rejects with `code` if its function fails. */
export async function valueFor<T>(
  name: string,
  option: PerRequest<T>,
  code: AgentErrorCode = 'UNAUTHORIZED',
): Promise<T> {
  if (typeof option !== 'function') return option;
  try {
    return await (option as () => T | Promise<T>)();
  } catch (cause) {
    if (AgentError.is(cause)) throw cause;
    throw new AgentError(code, `The function \`${name}\` failed: ${errorText(cause)}`, { cause });
  }
}

/** Returns the headers for one request to a model. Rejects with `MODEL_AUTH` as `valueFor` does. */
export async function modelHeaders(
  option: PerRequest<RequestHeaders> | undefined,
): Promise<Readonly<Record<string, string>>> {
  const headers = await valueFor('headers', option, 'MODEL_AUTH');
  return headers instanceof Headers ? Object.fromEntries(headers) : { ...headers };
}
