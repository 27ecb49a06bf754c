import type { Msg } from './msg.ts';

/** Groups consecutive messages with tool results. Every other message is a group of its own. */
export function resultGroups(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const groups: Msg[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last && bringsResults(message) && bringsResults(last[0]!)) last.push(message);
    else groups.push([message]);
  }
  return groups;
}

/** Returns whether a message has a tool result, whatever its role is. */
export function bringsResults({ content }: Msg): boolean {
  return content.some(({ type }) => type === 'tool_result');
}

/**
 * Creates a function that calls `make` once for each group. Later requests then have the same
 * objects, because the wire form and the token count are cached by object.
 */
export function oncePerGroup<T>(make: (group: readonly Msg[]) => T): (group: readonly Msg[]) => T {
  const known = new WeakMap<Msg, { readonly group: readonly Msg[]; readonly made: T }>();
  return (group) => {
    const before = known.get(group[0]!);
    const isSame =
      before?.group.length === group.length &&
      group.every((message, index) => message === before.group[index]);
    if (isSame) return before.made;
    const made = make(group);
    known.set(group[0]!, { group, made });
    return made;
  };
}
