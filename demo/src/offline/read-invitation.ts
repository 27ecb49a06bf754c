import type { Invitation } from '../invitation.ts';

/** Reads an invitation by rules, as a language model would. A field that is not there is empty. */
export function readInvitation(letter: string): Invitation {
  const find = (pattern: RegExp): string => pattern.exec(letter)?.[1]?.trim() ?? '';
  return {
    from: find(/(?:yours|from|love|best),?\s+(\p{L}+)\s*$/iu),
    day: find(/\b((?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i),
    time: find(/\b(\d{1,2}[:.]\d{2})\b/),
    guests: listIn(find(/\bwith\s+([^.!?]+)/i)),
    bring: listIn(find(/\bbring\s+([^.!?]+)/i)),
  };
}

/** Splits “bread, two lemons and oil”. */
function listIn(text: string): string[] {
  return text.split(/\s*(?:,|\band\b)\s*/).filter(Boolean);
}
