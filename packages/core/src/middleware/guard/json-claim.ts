import { unfitClaim, type Claim } from './claims.ts';
import { createMessage } from '../../message/create-message.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { mapStrings } from '../../message/json/map-strings.ts';

/** Returns a claim with all strings of a JSON value, such as the schema of a client's tool. */
export function jsonClaim(value: JsonValue, take: (judged: JsonValue) => void): Claim {
  const texts: string[] = [];
  mapStrings(value, (text) => {
    texts.push(text);
    return text;
  });
  const content = texts.map((text) => ({ type: 'text', text }) as const);
  const message = createMessage('user', content);
  return {
    message,
    take(judged) {
      if (judged === message) return;
      const left = judged?.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
      // The place of a text in the list says where it belongs in the value.
      if (left?.length !== texts.length) throw unfitClaim();
      take(mapStrings(value, () => left.shift()!));
    },
  };
}
