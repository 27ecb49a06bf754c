import { checkFields } from '../../error/check-fields.ts';

/** Throws `CONFIGURATION` if a function of middleware has returned a wrong kind of value. */
export function checkReturn(part: string, result: unknown, kind: string): void {
  checkFields('CONFIGURATION', `${part}()`, { result }, `result:${kind}`);
}
