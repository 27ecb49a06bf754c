import { checksum } from './checksum.ts';

/** A value as JSON text, with its checksum as the last field. */
export interface Sealed {
  readonly text: string;
  readonly sum: number;
}

const tail = /,"sum":(\d+)\}$/;
/** Maximum length of the field `sum` with its punctuation, in characters. */
const tailLength = ',"sum":9007199254740991}'.length;

/**
 * Returns an object as JSON with a checksum. The checksum includes the place where the text is
 * stored.
 */
export function seal(value: object, place: string): Sealed {
  const text = JSON.stringify(value).slice(0, -1);
  const sum = checksum(text, place);
  return { text: `${text},"sum":${sum}}`, sum };
}

/**
 * Returns whether a text has a checksum. Throws a `RangeError` if the checksum does not match the
 * text and the place.
 */
export function checkSeal(text: string, place: string): boolean {
  const found = tail.exec(text.slice(-tailLength));
  if (!found) return false;
  if (checksum(text.slice(0, -found[0].length), place) !== Number(found[1]))
    throw new RangeError('The checksum differs');
  return true;
}
