import { randomOf } from '../../random-of.ts';
import { seal } from '../../../packages/core/src/memory/log/stored/seal.ts';
import { formatVersion } from '../../../packages/core/src/memory/log/stored/stored-batch.ts';

/** Stored values by key. */
export type Values = ReadonlyMap<string, string>;

/** A change of a store, with the new values of the keys that it changes. */
export interface Mutation {
  readonly kind: string;
  readonly changes: Values;
}

export interface MutationSources {
  /** The values of the session under test. */
  readonly own: Values;
  /** The values of other sessions. Some are in the same store, and some have the same keys. */
  readonly others: readonly Values[];
}

/** How many times each random change is made to each value. */
const places = 2;

/**
 * Returns the changes of a session's values that a seed stands for. Each changes at least one
 * value.
 */
export function mutations({ own, others }: MutationSources, seed: number): readonly Mutation[] {
  const random = randomOf(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const keys = [...own.keys()];
  const made: Mutation[] = [];
  const add = (kind: string, ...entries: readonly (readonly [string, string])[]): void => {
    const changes = new Map(entries.filter(([key, value]) => own.get(key) !== value));
    if (changes.size > 0) made.push({ kind, changes });
  };
  for (const [key, value] of own) {
    for (let n = 0; n < places; n++) {
      add('bit flip', [key, flipBit(value, random)]);
      add('truncation', [key, value.slice(0, Math.floor(random() * value.length))]);
      add('text cut out', [key, cutOut(value, random)]);
      add('digit', [key, changeDigit(value, random)]);
      add('field', [key, changeField(value, random)]);
    }
    add('last character gone', [key, value.slice(0, -1)]);
    add('another value', [
      key,
      pick(['', 'null', '[]', '{}', '""', '0', 'true', '"text"', `{"v":${formatVersion}}`]),
    ]);
    add('older format', [key, value.replace(/"v":\d+/, '"v":2')]);
    add('newer format', [key, value.replace(/"v":\d+/, `"v":${formatVersion + 1}`)]);
    const other = pick(keys);
    add('copied over', [key, own.get(other)!]);
    add('swapped in the session', [key, own.get(other)!], [other, value]);
    for (const values of others) {
      add('copied from another session', [key, pick([...values.values()])]);
      const same = values.get(key);
      if (same !== undefined) add('value of the same key elsewhere', [key, same]);
    }
    for (const changed of withoutNames(value)) add('reference removed', [key, changed]);
  }
  return made;
}

function flipBit(value: string, random: () => number): string {
  const at = Math.floor(random() * value.length);
  const code = value.charCodeAt(at) ^ (1 << Math.floor(random() * 7));
  return value.slice(0, at) + String.fromCharCode(code) + value.slice(at + 1);
}

function cutOut(value: string, random: () => number): string {
  const at = Math.floor(random() * value.length);
  return value.slice(0, at) + value.slice(at + 1 + Math.floor(random() * 20));
}

function changeDigit(value: string, random: () => number): string {
  const digits = [...value.matchAll(/\d/g)];
  const { index, 0: digit } = digits[Math.floor(random() * digits.length)] ?? { index: 0, 0: '0' };
  return value.slice(0, index) + ((Number(digit) + 1) % 10) + value.slice(index + 1);
}

/**
 * Changes a random field of the JSON: removes it, gives it another value, or renames it to a name
 * from a prototype.
 */
function changeField(value: string, random: () => number): string {
  const fields: (readonly [Record<string, unknown>, string])[] = [];
  const root = parse(value);
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, child] of Object.entries(node)) {
      fields.push([node as Record<string, unknown>, key]);
      collect(child);
    }
  };
  collect(root);
  const [node, key] = fields[Math.floor(random() * fields.length)] ?? [];
  if (!node || key === undefined) return value;
  const kind = Math.floor(random() * 8);
  if (kind === 0) delete node[key];
  else if (kind === 1)
    Object.defineProperty(node, pickName(random), { value: node[key], enumerable: true });
  else node[key] = [null, '', 7, {}, [], [null]][kind - 2];
  return JSON.stringify(root);
}

function pickName(random: () => number): string {
  return ['__proto__', 'constructor', 'toString', 'hasOwnProperty'][Math.floor(random() * 4)]!;
}

/**
 * Returns copies of the value: one without each name of a batch in it, and one without all names of
 * each list.
 */
function withoutNames(value: string): readonly string[] {
  const root = parse(value) as Record<string, unknown> | undefined;
  const changed: string[] = [];
  for (const field of ['refs', 'index', 'replaces']) {
    const names = root?.[field];
    if (!Array.isArray(names) || names.length === 0) continue;
    changed.push(JSON.stringify({ ...root, [field]: [] }));
    const lists = field === 'refs' ? (names as unknown[][]) : [names as unknown[]];
    for (const [level, list] of lists.entries()) {
      for (const [at] of list.entries()) {
        const rest = lists.with(level, list.toSpliced(at, 1));
        changed.push(JSON.stringify({ ...root, [field]: field === 'refs' ? rest : rest[0] }));
      }
    }
  }
  return changed;
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** Changes fields of a stored head and updates its checksum. */
export function resealHead(key: string, text: string, changes: object): string {
  const { sum: _sum, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return seal({ ...fields, ...changes }, key).text;
}
