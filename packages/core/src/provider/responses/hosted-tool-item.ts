import type { HostedTool } from '../../message/hosted-tool.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import { jsonCopy, parseJson } from '../../message/parse-json.ts';
import type { WireItem } from './responses-wire.ts';

/** Fields in which the types of built-in tools have their input or their output. */
const inputFields = ['arguments', 'input', 'action', 'operation', 'queries', 'code'];
const outputFields = ['output', 'outputs', 'results'];

/**
 * Returns the use of a built-in tool that an item reports, such as `web_search_call`. Other items,
 * such as `compaction`, give `undefined`.
 */
export function toHostedTool(item: WireItem): HostedTool | undefined {
  const { type, id, call_id: callId, name, status } = item;
  if (!type || !/_call$|^program$/.test(type)) return undefined;
  const fields = jsonCopy(item) as JsonObject;
  const output = valueOf(fields, outputFields);
  const error = errorOf(fields['error']) ?? (status === 'failed' ? 'The tool failed.' : undefined);
  return {
    id: id || callId || type,
    name: name || type.replace(/_call$/, ''),
    input: valueOf(fields, inputFields) ?? {},
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
  };
}

/** Returns the first field that has a value. A text that is JSON is parsed. */
function valueOf(fields: JsonObject, names: readonly string[]): JsonValue | undefined {
  const value = names.map((name) => fields[name]).find((field) => field != null);
  return typeof value === 'string' ? (parseJson(value) ?? value) : value;
}

function errorOf(error: JsonValue | undefined): string | undefined {
  if (error == null || error === '') return undefined;
  if (typeof error === 'string') return error;
  const message = isRecord(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : JSON.stringify(error);
}
