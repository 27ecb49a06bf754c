import { seal } from '../../src/memory/log/format/seal.ts';

/** Changes fields of a stored head and updates its checksum. */
export function resealHead(key: string, text: string, changes: object): string {
  const { sum: _sum, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return seal({ ...fields, ...changes }, key).text;
}
