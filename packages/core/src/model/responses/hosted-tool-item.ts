import type { HostedTool } from '../../message/provider-metadata.ts';
import { isObjectOrArray, parseJson, type JsonObject, type JsonValue } from '../../message/json.ts';
import type { WireItem } from './responses-wire.ts';

/** Fields in which the types of built-in tools have their input or their output. */
const inputFields = ['arguments', 'input', 'action', 'operation', 'queries', 'code'];
const outputFields = ['output', 'outputs', 'results'];

/** Types of calls that the client has to run. The server sends no result of its own. */
const clientCalls = /^(local_shell|shell|apply_patch|computer|custom_tool)_call$/;

/** Returns whether the client has to run the call. */
export function isForClient({ type, execution }: WireItem): boolean {
  // Either side can run a search for tools.
  return clientCalls.test(type ?? '') || execution === 'client';
}

/**
 * Returns the use of a built-in tool that an item reports, such as `web_search_call`. Other items,
 * such as `compaction`, give `undefined`. `isDone`: whether the item is finished. Many finished
 * items have no output, and their tool has ended nevertheless.
 */
export function toHostedTool(item: WireItem, id: string, isDone: boolean): HostedTool | undefined {
  const { type, name, status } = item;
  if (typeof type !== 'string' || !isHostedTool(type)) return undefined;
  const fields = item as JsonObject;
  const input = valueOf(fields, inputFields) ?? {};
  const tool = { id, name: name || type.replace(/_call$/, ''), input };
  if (!isDone) return tool;
  const output = outputOf(item);
  const error = errorOf(fields['error']) ?? (status === 'failed' ? 'The tool failed.' : undefined);
  const isOpen = status === 'incomplete' || isForClient(item);
  return {
    ...tool,
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
    ...(output === undefined && error === undefined && !isOpen && { output: null }),
  };
}

/** Returns whether an item of this type is the use of a built-in tool. */
function isHostedTool(type: string): boolean {
  if (type === 'function_call') return false;
  return type === 'program' || type.endsWith('_call');
}

/** Returns the output of a built-in tool that an item has. */
export function outputOf(item: WireItem): JsonValue | undefined {
  // The `result` of an image is the image itself, which is a file of the reply.
  const names = item.type === 'program_output' ? ['result'] : outputFields;
  return valueOf(item as JsonObject, names);
}

/** Returns the first field that has a value. A text that is JSON is parsed. */
function valueOf(fields: JsonObject, names: readonly string[]): JsonValue | undefined {
  const value = names.map((name) => fields[name]).find((field) => field != null);
  return typeof value === 'string' ? (parseJson(value) ?? value) : value;
}

function errorOf(error: JsonValue | undefined): string | undefined {
  if (error == null || error === '') return undefined;
  if (typeof error === 'string') return error;
  const message = isObjectOrArray(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : JSON.stringify(error);
}
