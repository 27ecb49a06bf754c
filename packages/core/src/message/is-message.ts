import { isRecord } from './json/is-record.ts';
import type { Msg } from './msg.ts';
import { isBlock } from './validation/is-block.ts';

/** Returns whether a value has the shape of a message. */
export function isMessage(value: unknown): value is Msg {
  return (
    isRecord(value) &&
    typeof value['id'] === 'string' &&
    /^(system|user|assistant|tool)$/.test(String(value['role'])) &&
    Array.isArray(value['content']) &&
    value['content'].every(isBlock)
  );
}
