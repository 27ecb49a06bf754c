import { isRecord } from '../../packages/core/src/message/json.ts';

/** An object of a request, as it was sent. Every field may be missing or have another type. */
export type Wire = Readonly<Record<string, unknown>>;

/** A part of a request, and where it is: `messages[2].tool_calls[0]`. */
export interface Place {
  readonly path: string;
  readonly value: Wire;
}

/** A rule by which a provider refuses requests. */
export interface RequestRule {
  /** Identifies the rule: `tool-name`. */
  readonly id: string;
  /** What a request must be like, as a sentence. */
  readonly text: string;
  /**
   * Address at which the rule is published: a page of documentation, or a report that quotes it.
   */
  readonly source: string;
  /** Returns the paths of the parts that break the rule. */
  readonly find: (request: Place, target: RequestTarget) => readonly string[];
}

/** Where a request goes. */
export interface RequestTarget {
  readonly server: ServerName;
  /** Address of the request, or the provider's name in AI SDK: `anthropic.messages`. */
  readonly name: string;
}

/** Server whose additional rules apply. Other servers have the rules of the API alone. */
export type ServerName = 'openai' | 'mistral' | 'deepseek' | 'anthropic' | 'other';

/** Returns the objects in a list of a part. */
export function placesIn({ path, value }: Place, field: string): readonly Place[] {
  const items: unknown = value[field];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown, index) =>
    isRecord(item) ? [{ path: `${join(path, field)}[${index}]`, value: item }] : [],
  );
}

/** Returns the object in a field of a part. */
export function placeIn({ path, value }: Place, field: string): Place | undefined {
  const item = value[field];
  return isRecord(item) ? { path: join(path, field), value: item } : undefined;
}

export function join(path: string, field: string): string {
  return path ? `${path}.${field}` : field;
}

/** Returns the paths of the parts for which the test is true. */
export function pathsOf(
  places: readonly Place[],
  isBroken: (value: Wire, place: Place) => boolean,
): readonly string[] {
  return places.filter((place) => isBroken(place.value, place)).map(({ path }) => path);
}

/** Returns the paths of the parts whose name an earlier part has. */
export function repeatedNames(places: readonly Place[]): readonly string[] {
  const names = new Set<unknown>();
  return pathsOf(places, ({ name }) => {
    const isRepeated = names.has(name);
    names.add(name);
    return isRepeated;
  });
}

/** Returns the paths of the fields that are not in the list. */
export function unknownFields(place: Place, fields: ReadonlySet<string>): readonly string[] {
  const names = Object.keys(place.value).filter((name) => !fields.has(name));
  return names.map((name) => join(place.path, name));
}
